"""Control flow that depends on tensors: branches and loops as functions."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

from ferrograd import _core
from ferrograd._autograd.checkpoint import checkpoint as checkpointed
from ferrograd._autograd.modes import no_grad
from ferrograd._core import ArgumentError, ShapeError, Tensor, native
from ferrograd._kit import tree as _tree
from ferrograd._kit.warning import warn
from ferrograd.func._loops.branches import Branches
from ferrograd.func._loops.parts import Flat, Part, meet_batches, part, zeros_like_part
from ferrograd.func._loops.scans import Loop
from ferrograd.func._loops.tensors import entered, left, unbatched
from ferrograd.func._loops.whiles import Repeated
from ferrograd.func._record import tensor

#: With fewer steps a scan is unrolled: that takes less time.
_FEW = 64
#: The number of first steps that are taken apart where they change the shape or the dtype of the carry.
_FIRST = 2


def cond(pred: Any, true_fun: Callable[..., Any], false_fun: Callable[..., Any], *operands: Any) -> Any:
    """``true_fun(*operands)`` where ``pred`` holds, else ``false_fun(*operands)``, with the gradient of that branch.

    ``pred`` is a truth value: Python's, or a tensor of one element. Inside ``vmap`` it may differ between the examples:
    then each branch runs if an example takes it. In the place of an example that does not, it computes with the
    operands of one that does, and with what that reads besides, so neither infinities nor errors come from a branch
    that is not taken. A write to a tensor that has the batch changes the examples that take the branch. Inside
    ``compile`` both branches are traced and each call runs one of them, if they return tensors of the same structure,
    shapes and dtypes; otherwise the trace ends here.

    Raises:
        ArgumentError: inside ``vmap``, where the branches return different structures.

    >>> from ferrograd.func import cond, grad
    >>> def root(x):
    ...     return cond(x > 0, fg.sqrt, fg.zeros_like, x)
    >>> grad(root)(fg.tensor(4.0)).item(), grad(root)(fg.tensor(-4.0)).item()
    (0.25, 0.0)
    """
    __tracebackhide__ = True
    if isinstance(pred, Tensor) and (found := _traced_cond(pred, true_fun, false_fun, operands)) is not None:
        return found[0]
    if _differs(pred):
        return _each_its_own(_truth(pred), true_fun, false_fun, operands)
    return (true_fun if pred else false_fun)(*operands)


def switch(index: Any, branches: Sequence[Callable[..., Any]], *operands: Any) -> Any:
    """``branches[index](*operands)``, with the gradient of that branch.

    ``index`` is a whole number: Python's, or a tensor of one element. One below 0 stands for the first branch, and one
    beyond the last branch for that. What :func:`cond` says of its branches inside ``vmap`` and ``compile`` holds for
    these.

    Raises:
        ArgumentError: there is no branch, or inside ``vmap``, where the branches return different structures.

    >>> from ferrograd.func import switch, vmap
    >>> chosen = vmap(lambda i, x: switch(i, [fg.sqrt, fg.exp, fg.abs], x))
    >>> chosen(fg.tensor([0, 2, 1]), fg.tensor([4.0, -1.0, 0.0])).tolist()
    [2.0, 1.0, 1.0]
    """
    __tracebackhide__ = True
    if not branches:
        raise ArgumentError("switch: there is no branch to choose")
    if not isinstance(index, Tensor):
        return branches[min(max(operator.index(index), 0), len(branches) - 1)](*operands)
    *others, chosen = branches
    for i, branch in reversed(list(enumerate(others))):
        chosen = _one_of(index <= i, branch, chosen)
    return chosen(*operands)


def _one_of(pred: Any, yes: Callable[..., Any], no: Callable[..., Any]) -> Callable[..., Any]:
    """A function that calls one of two by a condition."""
    return lambda *operands: cond(pred, yes, no, *operands)


def _truth(pred: Tensor) -> Tensor:
    """A condition of one element as a truth value without axes."""
    if math.prod(pred.shape) != 1:
        raise ShapeError(f"cond: a condition is one truth value, not a tensor of shape {tuple(pred.shape)}")
    return native.astype(pred.reshape([]), "bool").detach()


def _each_its_own(holds: Tensor, yes: Callable[..., Any], no: Callable[..., Any], operands: tuple[Any, ...]) -> Any:
    """For each example of vmap the result of the branch that it takes. A branch that no example takes does not run."""
    sides = [(_core.Takers(holds), yes), (_core.Takers(native.logical_not(holds)), no)]
    taken = [(takers, f) for takers, f in sides if _is_taken(takers)]
    if len(taken) == 1:
        return taken[0][1](*operands)
    # An empty batch takes no branch. Its results have the shapes that both branches give.
    results = [_taken(takers, f, *operands) for takers, f in sides]
    return _chosen_leaves(holds, *results)


def _chosen_leaves(holds: Tensor, yes: Any, no: Any) -> Any:
    """The first of two structures for the examples for which a condition holds, the second for all others."""
    pairs = zip(_tree.leaves(yes), _tree.matched(no, yes, "cond"), strict=True)
    return _tree.rebuilt(yes, (native.where(holds, a, b) for a, b in pairs))


def _is_taken(takers: _core.Takers) -> bool:
    """Whether any example is one of the takers."""
    return not _core.all_hold(native.logical_not(unbatched(takers.mask)))


def _taken(takers: _core.Takers, f: Callable[..., Any], *operands: Any) -> Any:
    """The results of a function for some of the examples."""
    with takers:
        return f(*operands)


def while_loop(cond_fun: Callable[[Any], Any], body_fun: Callable[[Any], Any], init: Any) -> Any:
    """``init`` after ``body_fun`` was applied to it for as long as ``cond_fun`` holds.

    The value is a tensor or a structure of tensors. Each step is recorded, so gradients of any order go through the
    loop, in both modes. Inside ``vmap`` the condition may differ between the examples: then the loop goes on until it
    holds for none, and each example keeps the value with which its own condition failed. Inside ``compile`` both
    functions are traced, if each step keeps the shapes and dtypes, and a call takes as many steps as it needs. Its
    gradient, and derivatives of any order in forward mode, are part of the program; the derivative of a gradient ends
    the trace.

    Raises:
        ArgumentError: ``body_fun`` returns another structure than it is given.
        ShapeError: inside ``vmap``, where ``body_fun`` returns other shapes than it is given and the condition differs
            between the examples.

    >>> from ferrograd.func import grad, while_loop
    >>> def newton(a):
    ...     close = lambda x: abs(x * x - a) > 1e-6
    ...     return while_loop(close, lambda x: (x + a / x) / 2, a)
    >>> round(grad(newton)(fg.tensor(4.0)).item(), 4)
    0.25
    """
    __tracebackhide__ = True
    if (found := _traced_while(cond_fun, body_fun, init)) is not None:
        return found[0]
    value = init
    while going := _who_goes_on(cond_fun(value)):
        value = _next(going, body_fun, value)
    return value


def _who_goes_on(going: Any) -> Any:
    """For which examples of vmap a condition holds, if it differs between them; otherwise whether it holds."""
    if not _differs(going):
        return bool(going)
    takers = _core.Takers(_truth(going))
    return _is_taken(takers) and takers


def _differs(going: Any) -> bool:
    """Whether a condition may differ between the examples of vmap."""
    return isinstance(going, Tensor) and bool(_core.batches([going]))


def _next(going: Any, f: Callable[..., Any], old: Any) -> Any:
    """The next value of a loop: a new one for all examples, or for those that go on."""
    if not isinstance(going, _core.Takers):
        return _same_structure("while_loop", f(old), old)
    new = _taken(going, f, old)
    pairs = zip(_tree.matched(new, old, "while_loop"), _tree.leaves(old), strict=True)
    return _tree.rebuilt(old, (x if x is y else _chosen(going.mask, x, y) for x, y in pairs))


def _chosen(going: Tensor, new: Any, old: Any) -> Tensor:
    """The new one, for each example whose condition holds; both have one shape."""
    x, y = tensor(new, "while_loop"), tensor(old, "while_loop")
    if x.shape != y.shape:
        raise ShapeError(
            f"while_loop: a step returns shape {tuple(x.shape)} for {tuple(y.shape)}, but inside vmap examples that "
            "are done keep theirs"
        )
    return native.where(going, x, y)


def scan(
    f: Callable[[Any, Any], tuple[Any, Any]],
    init: Any,
    xs: Any = None,
    length: int | None = None,
    *,
    reverse: bool = False,
    checkpoint: int | None = None,
) -> tuple[Any, Any]:
    """Carries a value along axis 0 of ``xs``: ``carry, y = f(carry, x)`` for each ``x``.

    Returns the last carry and all ``y``, stacked along a new axis 0. The carry, ``xs`` and ``y`` are tensors or
    structures of tensors, and each may be None. Without ``xs`` there are ``length`` steps. ``reverse`` goes from the
    last ``x`` to the first; the ``y`` stay at the places of their ``x``.

    ``f`` is called a few times only: its ops are recorded and run for each step, so a graph has one node for the whole
    loop, and a compiled function one instruction. For the gradient, in both modes and of any order, the carry before
    each step is kept, or with ``checkpoint=k`` only every k-th; what else a step computes is computed again.
    Derivatives of any order are loops of as many steps, and those of a batch, such as the rows of a Jacobian, are one.
    Each step is recorded by itself, as in a loop in Python, for fewer than 64 steps, and where the ops of ``f`` cannot
    stand for it: if it asks for numbers, draws random ones, writes to tensors, or changes the shape or dtype of the
    carry in more than the first two steps. Where a compiled function records many steps so, a warning says why.

    Raises:
        ArgumentError: the number of steps is not known, ``f`` returns no pair, or another structure than it is given.
        ShapeError: the tensors in ``xs`` have different sizes, or another one than ``length``.

    >>> from ferrograd.func import scan
    >>> last, sums = scan(lambda total, x: (total + x, total + x), fg.tensor(0.0), fg.tensor([1.0, 2.0, 3.0]))
    >>> last.item(), sums.tolist()
    (6.0, [1.0, 3.0, 6.0])
    """
    __tracebackhide__ = True
    return _scanned(f, init, xs, length, reverse, checkpoint, _FIRST)


def _scanned(
    f: Callable[[Any, Any], tuple[Any, Any]],
    init: Any,
    xs: Any,
    length: int | None,
    reverse: bool,
    checkpoint: int | None,
    first_steps: int,
) -> tuple[Any, Any]:
    """:func:`scan`, where so many of the first steps may change the shape and the dtype of the carry."""
    __tracebackhide__ = True
    columns = [tensor(x, "scan") for x in _tree.leaves(xs)]
    if any(x.ndim == 0 for x in columns):
        raise ShapeError("scan: a tensor in xs has no axis to go along")
    sizes = {int(x.shape[0]) for x in columns} | ({length} if length is not None else set())
    if not sizes:
        raise ArgumentError("scan: without xs it needs length, the number of steps")
    if len(sizes) > 1:
        raise ShapeError(f"scan: xs and length have different numbers of steps: {sorted(sizes)}")
    n = sizes.pop()
    if n < 0:
        raise ArgumentError(f"scan: length is a number of steps, not {n}")
    if checkpoint is not None and checkpoint < 1:
        raise ArgumentError(f"scan: checkpoint is None or a positive number of steps, not {checkpoint}")

    def step(carry: Any, x: Any, f: Callable[..., Any] = f) -> tuple[Any, Any]:
        __tracebackhide__ = True
        pair = f(carry, x)
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise ArgumentError(f"scan: f returns the next carry and y, not {type(pair).__name__}")
        return _same_structure("scan", pair[0], carry), _tree.mapped(lambda leaf: tensor(leaf, "scan"), pair[1])

    def part(carry: Any, start: int, stop: int) -> tuple[Any, list[Any]]:
        __tracebackhide__ = True
        rows = [native.unstack(x[start:stop]) for x in columns]
        places = range(stop - start)
        made: dict[int, Any] = {}
        for t in reversed(places) if reverse else places:
            carry, made[t] = step(carry, _tree.rebuilt(xs, iter([r[t] for r in rows])))
        return carry, [made[t] for t in places]

    if n == 0:
        with no_grad():
            example = _tree.rebuilt(xs, iter([native.zeros(list(x.shape[1:]), x.dtype) for x in columns]))
            y = step(init, example)[1]
            return init, _tree.mapped(lambda leaf: native.zeros([0, *leaf.shape], leaf.dtype), y)
    if n >= _FEW:
        found = _looped(step, f, init, xs, columns, n, reverse, checkpoint)
        if not isinstance(found, Part):
            return found
        if found.is_unlike and first_steps:
            return _after_first_step(step, f, init, xs, columns, n, reverse, checkpoint, first_steps)
        if _core.is_tracing():
            _warn_of_steps(n, found.refusal)
    size = checkpoint or n
    starts = range(0, n, size)
    parts: dict[int, list[Any]] = {}
    carry = init
    for start in reversed(starts) if reverse else starts:
        stop = min(start + size, n)
        if checkpoint is None:
            carry, parts[start] = part(carry, start, stop)
        else:
            carry, parts[start] = checkpointed(part, carry, start, stop)
    ys = [y for start in starts for y in parts[start]]
    first = ys[0]
    stacked = (
        native.stack(list(leaves)) for leaves in zip(*(_tree.matched(y, first, "scan") for y in ys), strict=True)
    )
    return carry, _tree.rebuilt(first, stacked)


def _same_structure(what: str, new: Any, old: Any) -> Any:
    """The leaves of ``new`` in the structure of ``old``, which it must have."""
    return _tree.rebuilt(old, iter(_tree.matched(new, old, what)))


def _warn_of_steps(n: int, reason: str) -> None:
    """Warns that a compiled function records each step of a scan."""
    why = f" because {reason}" if reason else ""
    warn(f"scan: a compiled function records each of {n} steps by itself{why}; other steps are recorded once")


def _after_first_step(
    step: Callable[..., Any],
    f: Callable[..., Any],
    init: Any,
    xs: Any,
    columns: list[Tensor],
    n: int,
    reverse: bool,
    checkpoint: int | None,
    first_steps: int,
) -> tuple[Any, Any]:
    """A scan whose first step is taken by itself. The carry that it gives may be like those that follow."""
    __tracebackhide__ = True
    at, others = (n - 1, slice(0, n - 1)) if reverse else (0, slice(1, n))
    carry, y = step(init, _tree.rebuilt(xs, iter([x[at] for x in columns])))
    rest = _tree.rebuilt(xs, iter([x[others] for x in columns]))
    carry, ys = _scanned(f, carry, rest, n - 1, reverse, checkpoint, first_steps - 1)
    rows = [leaf[None] for leaf in _tree.matched(y, ys, "scan")]
    pairs = zip(rows, _tree.leaves(ys), strict=True)
    return carry, _tree.rebuilt(y, iter([native.concat([b, a] if reverse else [a, b]) for a, b in pairs]))


def _looped(
    step: Callable[..., Any],
    f: Callable[..., Any],
    init: Any,
    xs: Any,
    columns: list[Tensor],
    n: int,
    reverse: bool,
    checkpoint: int | None,
) -> tuple[Any, Any] | Part:
    """A scan as one node, or as one of nodes. Where its step cannot be traced, the step itself, which knows why."""
    carry = [tensor(x, "scan") for x in _tree.leaves(init)]
    count = len(carry)
    results: list[Any] = []

    def flat(f: Callable[..., Any]) -> Flat:
        def run(*given: Tensor) -> list[Tensor]:
            x = [entered(v, batches) for v in given]
            new, y = step(_tree.rebuilt(init, iter(x[:count])), _tree.rebuilt(xs, iter(x[count:])), f)
            results[:] = [_structure(y)]
            outs = [*(tensor(leaf, "scan") for leaf in _tree.matched(new, init, "scan")), *_tree.leaves(y)]
            return [left(v, batches) for v in outs]

        return run

    traced = part(flat, f)
    # Inside vmap the loop is one of whole batches.
    batches = meet_batches([traced], [*carry, *columns])
    carries = [left(x, batches) for x in carry]
    rows = [left(x[-1 if reverse else 0], batches) for x in columns]
    if not traced.can_trace([*carries, *rows], carries):
        return traced
    if checkpoint is None or checkpoint >= n:
        outs = Loop(traced, count, n, reverse).run([*carries, *(left(x, batches, 1) for x in columns)])
        outs = [entered(x, batches, int(i >= count)) for i, x in enumerate(outs)]
        return _tree.rebuilt(init, iter(outs[:count])), _tree.rebuilt(results[0], iter(outs[count:]))

    def segment(carry: Any, rows: list[Tensor]) -> tuple[Any, Any]:
        k = int(rows[0].shape[0]) if rows else checkpoint
        return scan(f, carry, _tree.rebuilt(xs, iter(rows)), k, reverse=reverse)

    whole = n - n % checkpoint
    parts = [x[:whole].reshape([whole // checkpoint, checkpoint, *x.shape[1:]]) for x in columns]
    rest = [x[whole:] for x in columns]
    if reverse and whole < n:
        init, last = segment(init, rest) if rest else scan(f, init, None, n - whole, reverse=True)
    segments = whole // checkpoint
    found = _looped(step, segment, init, parts, parts, segments, reverse, None)
    init, ys = scan(segment, init, parts, segments, reverse=reverse) if isinstance(found, Part) else found
    if not reverse and whole < n:
        init, last = segment(init, rest) if rest else scan(f, init, None, n - whole)
    ys = _tree.mapped(lambda y: y.reshape([whole, *y.shape[2:]]), ys)
    if whole < n:
        pairs = zip(_tree.leaves(ys), _tree.leaves(last), strict=True)
        ys = _tree.rebuilt(ys, (native.concat(list(pair)) for pair in pairs))
    return init, ys


#: Stands for a tensor in a structure: a float, as fields of dataclasses are leaves if they are floats.
_HOLE = type("_Hole", (float,), {})()


def _told_apart(tree: Any) -> Any:
    """What two structures are compared by: their classes, their names in order, and all leaves that are not tensors."""
    parts = _tree.children(tree)
    if isinstance(tree, (bool, int, float, complex, str, bytes)):
        return type(tree), repr(tree)
    if parts is None:
        return type(tree), None if isinstance(tree, Tensor) else id(tree)
    return type(tree), _tree.rest(tree), [(name, _told_apart(part)) for name, part in parts]


def _structure(tree: Any) -> Any:
    """The structure with a number for each tensor."""
    return _tree.mapped(lambda leaf: 0.0, tree)


def _traced_cond(
    pred: Tensor, yes: Callable[..., Any], no: Callable[..., Any], operands: tuple[Any, ...]
) -> tuple[Any] | None:
    """Branches as nodes of a trace; None where no trace is taken or a branch cannot be part of it."""
    if not _core.is_tracing() or math.prod(pred.shape) != 1:
        return None
    holds = _truth(pred)
    if not _differs(holds):
        return _traced_branches(holds, [yes, no], operands)
    first = _traced_branches(holds, [yes], operands, holds)
    others = native.logical_not(holds)
    if first is None or (second := _traced_branches(others, [no], operands, others)) is None:
        return None
    return (_chosen_leaves(holds, first[0], second[0]),)


def _traced_branches(
    holds: Tensor, functions: list[Callable[..., Any]], operands: tuple[Any, ...], takes: Tensor | None = None
) -> tuple[Any] | None:
    """One of two functions of the operands, as one node of a trace; None where they cannot be part of it.

    With ``takes``, which says by example of vmap who takes the one function, it runs if any example does. The result is
    for those, and zeros if there are none.
    """
    given = [x for x in _tree.leaves(operands) if isinstance(x, Tensor)]
    #: The results of the functions with a number for each tensor, and what tells their structures apart.
    results: list[tuple[Any, Any]] = []

    def flat(f: Callable[..., Any]) -> Flat:
        def run(*x: Tensor) -> list[Tensor]:
            values = (entered(v, batches) for v in x)
            old = _tree.leaves(operands)
            inner = _tree.rebuilt(operands, (next(values) if isinstance(y, Tensor) else y for y in old))
            result = f(*inner) if takes is None else _taken(_core.Takers(takes), f, *inner)
            results.append((_tree.mapped(lambda y: _HOLE if isinstance(y, Tensor) else y, result), _told_apart(result)))
            return [left(y, batches) for y in _tree.leaves(result) if isinstance(y, Tensor)]

        return run

    parts = [part(flat, f) for f in functions]
    # Inside vmap a branch is one of whole batches.
    batches = meet_batches(parts, given if takes is None else [*given, takes])
    whole = [left(x, batches) for x in given]
    if takes is not None:
        holds = native.any(left(takes, batches))
        parts.append(zeros_like_part(parts[0]))
    if not all(p.can_trace(whole) for p in parts) or parts[0].program.outputs() != parts[1].program.outputs():
        return None
    if any(kind != results[0][1] for _, kind in results[: len(functions)]):
        return None
    made = (entered(y, batches) for y in Branches(*parts).run(holds.detach(), whole))
    return (_tree.mapped(lambda y: next(made) if y is _HOLE else y, results[0][0]),)


def _traced_while(cond_fun: Callable[..., Any], body_fun: Callable[..., Any], init: Any) -> tuple[Any] | None:
    """A loop as one node of a trace; None where no trace is taken or the loop cannot be part of it."""
    carry = _tree.leaves(init)
    if not _core.is_tracing() or not all(isinstance(x, Tensor) for x in carry):
        return None

    def value_of(x: tuple[Tensor, ...]) -> Any:
        return _tree.rebuilt(init, (entered(v, batches) for v in x))

    def test(goes: Callable[..., Any]) -> Flat:
        def run(*x: Tensor) -> list[Tensor]:
            going = _truth(tensor(goes(value_of(x)), "while_loop"))
            mask = _core.Takers(going).mask if _differs(going) else going
            return [native.any(left(mask, batches))]

        return run

    def step(goes: Callable[..., Any], f: Callable[..., Any]) -> Flat:
        def run(*x: Tensor) -> list[Tensor]:
            value = value_of(x)
            going: Any = goes(value) if batches else True
            new = _next(_core.Takers(_truth(going)) if _differs(going) else True, f, value)
            return [left(tensor(y, "while_loop"), batches) for y in _tree.leaves(new)]

        return run

    parts = part(test, cond_fun), part(step, cond_fun, body_fun)
    # Inside vmap the loop is one of whole batches.
    batches = meet_batches(parts, carry)
    whole = [left(x, batches) for x in carry]
    if not parts[0].can_trace(whole) or not parts[1].can_trace(whole, whole):
        return None
    return (_tree.rebuilt(init, (entered(y, batches) for y in Repeated(*parts).run(whole))),)
