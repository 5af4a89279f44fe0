"""Control flow that depends on tensors: branches and loops as functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ferrograd import _tree
from ferrograd._autograd.checkpoint import checkpoint as checkpointed
from ferrograd._autograd.modes import no_grad
from ferrograd._core import ArgumentError, ShapeError, VmapError, native
from ferrograd.func._record import tensor


def cond(pred: Any, true_fun: Callable[..., Any], false_fun: Callable[..., Any], *operands: Any) -> Any:
    """``true_fun(*operands)`` where ``pred`` holds, else ``false_fun(*operands)``, with the gradient of that branch.

    ``pred`` is a truth value: Python's, or a tensor of one element. Inside ``vmap`` it may differ between the examples:
    then both branches are computed, and each example gets its own. Inside ``compile`` the trace ends here, because a
    program has no branches.

    Raises:
        ArgumentError: inside ``vmap``, where the branches return different structures.

    >>> from ferrograd.func import cond, grad
    >>> def root(x):
    ...     return cond(x > 0, fg.sqrt, fg.zeros_like, x)
    >>> grad(root)(fg.tensor(4.0)).item(), grad(root)(fg.tensor(-4.0)).item()
    (0.25, 0.0)
    """
    __tracebackhide__ = True
    try:
        holds = bool(pred)
    except VmapError:
        yes, no = true_fun(*operands), false_fun(*operands)
        other = _tree.matched(no, yes, "cond")
        return _tree.rebuilt(yes, (native.where(pred, a, b) for a, b in zip(_tree.leaves(yes), other, strict=True)))
    return (true_fun if holds else false_fun)(*operands)


def while_loop(cond_fun: Callable[[Any], Any], body_fun: Callable[[Any], Any], init: Any) -> Any:
    """``init`` after ``body_fun`` was applied to it for as long as ``cond_fun`` holds.

    The value is a tensor or a structure of tensors. Each step is recorded, so gradients of any order go through the
    loop, in both modes. Inside ``vmap`` the condition is one for all examples. Inside ``compile`` a condition on
    tensors ends the trace.

    Raises:
        ArgumentError: ``body_fun`` returns another structure than it is given.

    >>> from ferrograd.func import grad, while_loop
    >>> def newton(a):
    ...     close = lambda x: abs(x * x - a) > 1e-6
    ...     return while_loop(close, lambda x: (x + a / x) / 2, a)
    >>> round(grad(newton)(fg.tensor(4.0)).item(), 4)
    0.25
    """
    __tracebackhide__ = True
    value = init
    while cond_fun(value):
        value = _same_structure("while_loop", body_fun(value), value)
    return value


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
    last ``x`` to the first; the ``y`` stay at the places of their ``x``. With ``checkpoint=k`` only every k-th carry is
    kept for the gradient, and the steps between two of them run a second time.

    Gradients of any order go through all steps, in both modes. ``compile`` unrolls the loop.

    Raises:
        ArgumentError: the number of steps is not known, ``f`` returns no pair, or another structure than it is given.
        ShapeError: the tensors in ``xs`` have different sizes, or another one than ``length``.

    >>> from ferrograd.func import scan
    >>> last, sums = scan(lambda total, x: (total + x, total + x), fg.tensor(0.0), fg.tensor([1.0, 2.0, 3.0]))
    >>> last.item(), sums.tolist()
    (6.0, [1.0, 3.0, 6.0])
    """
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

    def step(carry: Any, x: Any) -> tuple[Any, Any]:
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
    """``new``, which must have the structure of ``old``."""
    _tree.matched(new, old, what)
    return new
