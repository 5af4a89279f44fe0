"""Loops and branches as single nodes of a graph, whose steps are programs.

A step is a function of tensors that returns a list of tensors. It is traced, and so is its derivative, which is a step
too: so derivatives of any order are loops and branches again.
"""

from __future__ import annotations

import contextlib
import itertools
import operator
import types
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from ferrograd import _core
from ferrograd._autograd.function import Function, pulled_back
from ferrograd._autograd.modes import enable_grad, no_grad
from ferrograd._compile.dependencies import Names, Refused
from ferrograd._compile.holders import Holder, note
from ferrograd._compile.reader import Reader
from ferrograd._core import Tensor, VmapError, native
from ferrograd._kit.dialect import NATIVE, dialect_of

Flat = Callable[..., list[Tensor]]


class Kind(NamedTuple):
    """What a program fixes about a tensor."""

    shape: list[int]
    dtype: Any
    dialect: int

    @staticmethod
    def of(x: Tensor) -> Kind:
        return Kind(list(x.shape), x.dtype, dialect_of(x))

    @property
    def is_inexact(self) -> bool:
        """Whether such a tensor can have a gradient."""
        return self.dtype.kind in "fc"

    def zeros(self, *lead: int) -> Tensor:
        """Zeros of this kind, with more axes before the others."""
        return _core.make(native.zeros([*lead, *self.shape], dtype=self.dtype), None, False, self.dialect)


class _NoDerivative(RuntimeError):
    """No program differentiates a step or a branch. The message says why."""


class Part(Holder):
    """A step or a branch that was traced: its program, and the tensors that it reads besides its arguments."""

    def __init__(
        self, function: Flat, reads: Callable[[], tuple[Any, list[Tensor]]], first: Part | None = None
    ) -> None:
        self.function = function
        self.program: Any = None
        #: The batches of vmap that its arguments have as axes, the innermost one first.
        self.batches: list[_core.Batch] = []
        #: By the number of an argument that the examples of such batches share: these batches.
        self.shared: dict[int, list[_core.Batch]] = {}
        #: What the program reads, with its batches as axes, and the same as the function reads it.
        self.constants: list[Tensor] = []
        self.found: list[Tensor] = []
        self.outputs: list[Kind] = []
        #: What the user's function reads, and the part whose derivative this is, if it is one.
        self._reads = reads
        self._first = first
        #: What it read when it was traced.
        self._seen: Any = None
        #: Why there is no program; and whether that is because its outputs are of other kinds than they have to be.
        self.refusal = ""
        self.is_unlike = False

    def reads(self) -> list[Tensor]:
        """The tensors that the user's functions read."""
        try:
            return self._reads()[1]
        except Refused:
            return []

    def axes(self, x: Tensor) -> list[_core.Batch]:
        """The batches that are axes of the gradient of a constant, the outermost one first.

        Those whose ``vmap`` still runs are, because each example gets a gradient of its own.
        """
        return [batch for batch in reversed(self.batches) if batch.is_live or batch.has(x)]

    def live(self) -> tuple[bool, ...]:
        """Which of the batches are of a ``vmap`` that still runs."""
        return tuple(batch.is_live for batch in self.batches)

    def trace(self, arguments: Sequence[Tensor], like: Sequence[Tensor] = ()) -> bool:
        """Traces the function. Returns whether that gives a program whose first outputs are like those of ``like``."""
        if not _core.program_modes(inner=True) or _core.batches(list(arguments)):
            return False
        examples = [_example(x) for x in arguments]
        try:
            before, _ = self._reads()
        except Refused as refusal:
            self.refusal = str(refusal)
            return False
        if self._first is not None and self._first._seen != before:
            raise RuntimeError(
                "a variable that the function of a loop or a branch reads has changed before it was differentiated "
                "again"
            )
        self._seen = before
        tracer = _core.Tracer(examples)
        try:
            outputs = self.function(*tracer.arguments())
            is_same = tracer.given_up is None and self._reads()[0] == before and not _core.batches(outputs)
            kinds = [Kind.of(x) for x in outputs] if is_same else []
            # The loops and branches inside are held by the graph, and so are the tensors that those read.
            outputs = [x.detach() for x in outputs]
            inner = tracer.finish_inner(outputs) if is_same else None
        except BaseException:
            tracer.cancel(True)
            raise
        if inner is None:
            other = "it draws random numbers, asks for numbers, or writes to or keeps a tensor"
            why = other if is_same else "it changes what it reads"
            self.refusal = tracer.given_up[0] if tracer.given_up else why
            tracer.cancel(True)
            return False
        self.program, self.found = inner
        self.outputs = kinds
        if self._first is not None:
            self._use_constants_of(self._first)
        edges: list[Any] = []
        for i, x in enumerate(self.found):
            # One gradient belongs to one constant.
            if x.requires_grad and (edge := _edge(x)) in edges:
                self.found[i] = x.detach()
            elif x.requires_grad:
                edges.append(edge)
        with enable_grad():
            self.constants = [unbatched(x) for x in self.found]
        self.is_unlike = [kind[:2] for kind in kinds[: len(like)]] != [Kind.of(x)[:2] for x in like]
        if self.is_unlike:
            self.refusal = "it changes the shape or the dtype of the carry"
        return not self.is_unlike

    def can_trace(self, arguments: Sequence[Tensor], like: Sequence[Tensor] = ()) -> bool:
        """:meth:`trace` for which an error of the function means that there is no program. Who runs the function itself
        meets the error.
        """
        try:
            return self.trace(arguments, like)
        except Exception:
            return False

    def _use_constants_of(self, first: Part) -> None:
        """Takes the numbers that the first part has found in the same memory, as a derivative has to."""
        for i, k in enumerate(self.program.found_by(first.program)):
            if k is None:
                continue
            own, known = self.found[i], first.found[k]
            if own.requires_grad != known.requires_grad or (own.requires_grad and _edge(own) != _edge(known)):
                raise RuntimeError(
                    "a tensor that a loop reads was written to before the loop was differentiated again; write to a "
                    "copy"
                )
            self.found[i] = known

    def derivative(self, function: Flat, arguments: Sequence[Kind], examples: Sequence[Tensor] = ()) -> Part:
        """The part that differentiates this one, by this function of tensors of these kinds.

        ``examples`` are numbers for the last of them, where zeros may be an error.
        """
        part = self.like(function)
        zeros = [kind.zeros() for kind in arguments[: len(arguments) - len(examples)]]
        with no_grad():
            if not part.trace([*zeros, *examples]):
                raise _NoDerivative(part.refusal)
        return part

    def like(self, function: Flat) -> Part:
        """A part of this function, which reads what this part reads.

        Whenever the function is called, the batches run that run now: derivatives are those of each of their examples.
        """
        live = [batch for batch in self.batches if batch.is_live]

        def run(*x: Tensor) -> list[Tensor]:
            with _core.Live(live):
                return function(*x)

        part = Part(run, self._reads, self._first or self)
        part.batches = self.batches
        return part

    def live_shared(self, i: int) -> list[_core.Batch]:
        """The batches whose ``vmap`` still runs and whose examples share an argument. Each has its own derivative."""
        return [batch for batch in self.shared.get(i, ()) if batch.is_live]


def part(flat: Callable[..., Flat], *functions: Callable[..., Any]) -> Part:
    """The part of a user's functions; ``flat`` makes a function of tensors of them."""
    functions = tuple(map(_frozen, functions))
    names = Names()
    for function in functions:
        names.meet(function)

    def reads() -> tuple[Any, list[Tensor]]:
        reader = Reader(None, names)
        seen = reader.read_all((), {})
        return (seen, [id(x) for x in reader.tensors]), reader.tensors

    found = Part(flat(*functions), reads)
    found.function = _within(found.batches, _core.takers().mask, found.function)
    return found


def zeros_like_part(other: Part) -> Part:
    """A part that returns zeros in the place of what another one returns, which was traced or will be."""
    part = Part(lambda *x: [kind.zeros() for kind in other.outputs], lambda: (None, []))
    part.batches = other.batches
    return part


def _within(batches: list[_core.Batch], mask: Tensor | None, function: Flat) -> Flat:
    """The function for each of these examples of batches, whenever it is called."""

    def run(*x: Tensor) -> list[Tensor]:
        with _core.Live(batches), _core.Takers(mask, joins=False):
            return function(*x)

    return run


def meet_batches(parts: Sequence[Part], arguments: Sequence[Tensor]) -> list[_core.Batch]:
    """Finds the batches of the arguments and of the tensors that the parts read, for all of the parts."""
    found = [*arguments, *(x for part in parts for x in part.reads())]
    batches = _core.batches(found)
    if (mask := _core.takers().mask) is not None and any(batch.has(mask) for batch in batches):
        batches = _core.batches([*found, mask])
    for part in parts:
        part.batches[:] = batches
    return batches


class InBatches(NamedTuple):
    """A part that was traced as one of whole batches."""

    part: Part
    batches: list[_core.Batch]
    #: Which of the arguments have the batches as axes, and which of the outputs.
    arguments: list[bool]
    outputs: list[bool]

    def left(self, given: Sequence[Tensor], carries: int | None = None) -> list[Tensor]:
        """Arguments with their batches as axes, which come after the first axis of all but the carries."""
        return [
            left(x, self.batches, int(carries is not None and i >= carries)) if is_whole else x
            for i, (x, is_whole) in enumerate(zip(given, self.arguments, strict=True))
        ]

    def entered(self, outs: Sequence[Tensor], carries: int | None = None) -> list[Tensor]:
        """Outputs with those axes as batches again."""
        return [
            entered(x, self.batches, int(carries is not None and i >= carries)) if is_whole else x
            for i, (x, is_whole) in enumerate(zip(outs, self.outputs, strict=True))
        ]


def in_batches(
    part: Part,
    given: Sequence[Tensor],
    batches: Sequence[_core.Batch],
    carries: int = 0,
    whole: Sequence[bool] | None = None,
) -> InBatches | None:
    """The part as one of whole batches, traced with these arguments; None where there is no such program.

    The arguments that ``whole`` names have all batches as axes then, by default those that have one, and so have all
    outputs but carries: of the first ``carries`` arguments and outputs only those that a step gives a batch have one.
    """
    is_whole = _have_batches(given) if whole is None else list(whole)

    def run(*x: Tensor) -> list[Tensor]:
        values = [entered(v, batches) if is_one else v for v, is_one in zip(x, is_whole, strict=True)]
        with _core.Live(batches):
            outputs = part.function(*values)
        for i, y in enumerate(outputs[:carries]):
            is_whole[i] = is_whole[i] or bool(_core.batches([y]))
        return [y if i < carries and not is_whole[i] else left(y, batches) for i, y in enumerate(outputs)]

    while True:
        traced, before = part.like(run), list(is_whole)
        traced.batches = _together(part.batches, batches)
        for i, is_one in enumerate(is_whole):
            traced.shared[i] = _together(part.shared.get(i, []), [] if is_one else batches)
        with no_grad():
            examples = [left(x, batches) if is_one else x for x, is_one in zip(given, is_whole, strict=True)]
            if not traced.can_trace(examples):
                return None
        if is_whole == before:
            outputs = [*is_whole[:carries], *(True for _ in traced.outputs[carries:])]
            return InBatches(traced, list(batches), before, outputs)


def _have_batches(given: Sequence[Tensor]) -> list[bool]:
    """Which tensors have a batch."""
    return [bool(_core.batches([x])) for x in given]


def _together(some: Sequence[_core.Batch], others: Sequence[_core.Batch]) -> list[_core.Batch]:
    """The batches of two lists, the innermost one first."""
    every: list[Any] = [*some, *(batch for batch in others if batch not in some)]
    return sorted(every, reverse=True)


def _frozen(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function with the variables of its closure as they are now, for derivatives that are traced later."""
    if not isinstance(function, types.FunctionType) or not function.__closure__:
        return function
    try:
        cells = tuple(types.CellType(cell.cell_contents) for cell in function.__closure__)
    except ValueError:  # A variable has no value yet.
        return function
    copy = types.FunctionType(function.__code__, function.__globals__, function.__name__, function.__defaults__, cells)
    copy.__kwdefaults__ = function.__kwdefaults__
    return copy


def _example(x: Tensor) -> Tensor:
    """A contiguous tensor of its own with the numbers of another."""
    copy = native.clone(x.detach()).contiguous().detach()
    return _core.require_grad(copy) if x.requires_grad and _core.is_grad_enabled() else copy


def unbatched(x: Tensor) -> Tensor:
    """The tensor with its batches as its first axes, the outermost one first."""
    return left(x, _core.batches([x]))


def left(x: Tensor, batches: Sequence[_core.Batch], axis: int = 0) -> Tensor:
    """The tensor with these batches, the innermost one first, as axes from ``axis`` on."""
    for batch in batches:
        x = batch.leave(x, axis)
    return x


def entered(x: Tensor, batches: Sequence[_core.Batch], axis: int = 0) -> Tensor:
    """The tensor with its axes from ``axis`` on as these batches again: :func:`left` undone."""
    for batch in reversed(batches):
        x = batch.enter(x, axis)
    return x


def _edge(x: Tensor) -> Any:
    return _core.gradient_edge(x)


def _with_edge(x: Tensor) -> Tensor:
    """The tensor, tracked if it can have a gradient."""
    return x if x.requires_grad or not is_inexact(x) else _core.require_grad(x.detach())


def _with_edges(tensors: Sequence[Tensor]) -> list[Tensor]:
    """The tensors. Those that can have a gradient are tracked."""
    return list(map(_with_edge, tensors))


def _is_tracked(x: Tensor) -> bool:
    return x.requires_grad


def is_inexact(x: Any) -> bool:
    """Whether a tensor, or one of this kind, can have a gradient."""
    return x.dtype.kind in "fc"


def _inexact(kinds: Sequence[Kind]) -> list[Kind]:
    return [kind for kind in kinds if kind.is_inexact]


def _tracked(part: Part) -> list[Kind]:
    """The kinds of the gradients of the constants that gradients flow into."""
    found = [x for x in part.found if x.requires_grad]
    return [Kind([*map(len, part.axes(x)), *x.shape], x.dtype, dialect_of(x)) for x in found]


def _for_constants(part: Part, grads: Sequence[Tensor | None]) -> list[Tensor | None]:
    """The gradients of the tracked constants, each with the batches that its constant lacks as batches again."""
    given = []
    for x, g in zip((x for x in part.found if x.requires_grad), grads, strict=True):
        axes = part.axes(x)
        for batch in [batch for batch in axes if not batch.has(x)]:
            g = g if g is None else batch.enter(g, axes.index(batch))
            axes.remove(batch)
        given.append(g)
    return given


def _back(
    step: Part, wants: Sequence[bool], has: Sequence[bool]
) -> tuple[Callable[..., list[Tensor]], list[bool | None]]:
    """The gradients of a step: of its inexact arguments that want one, and of its tracked constants.

    The function gets the gradients of the inexact outputs, of which only those count that there are (``has``), and the
    arguments. The list says, once it is traced, which of its results are gradients. The others are zeros: False stands
    for one whose derivatives are all zero, as those of a sign, and None for one that is not read at all.
    """
    tracked = [x for x in step.found if x.requires_grad]
    ends, of_constants = [*map(_edge, tracked)], _tracked(step)
    axes = [step.axes(x)[::-1] for x in tracked]
    shared = [step.live_shared(i) for i in range(len(wants))]
    reached: list[bool | None] = []

    def back(*given: Tensor) -> list[Tensor]:
        g = [x if is_there else None for x, is_there in zip(given, has, strict=False)]
        arguments = given[len(has) :]
        creates = _core.is_grad_enabled()
        with enable_grad():
            inner = [_with_edge(x) if wanted else x for x, wanted in zip(arguments, wants, strict=False)]
            outputs = [y for y in step.function(*inner) if is_inexact(y)]
        own = [x for x, wanted in zip(inner, wants, strict=True) if wanted and is_inexact(x)]
        leave = [those for x, those, wanted in zip(inner, shared, wants, strict=True) if wanted and is_inexact(x)]
        wanted = [*own, *ends]
        grads, reached[:] = _pulled_back(outputs, g, wanted, creates)
        of_own = [native.zeros_like(v) if d is None else d for v, d in zip(own, grads[: len(own)], strict=True)]
        found = zip(of_constants, grads[len(own) :], axes, strict=True)
        return [
            *(left(d, those) for d, those in zip(of_own, leave, strict=True)),
            *(kind.zeros() if d is None else left(d, those) for kind, d, those in found),
        ]

    return back, reached


def _pulled_back(
    outputs: list[Tensor], g: list[Tensor | None], wanted: list[Any], creates: bool
) -> tuple[list[Any], list[bool | None]]:
    """The gradients of the wanted tensors, None where no cotangent arrives, and what :func:`_back` says of them."""
    pairs = [(y, h) for y, h in zip(outputs, g, strict=True) if y.requires_grad and h is not None]
    if not pairs or not wanted:
        return [None for _ in wanted], [None for _ in wanted]
    ends, seeds = map(list, zip(*pairs, strict=True))
    keeps: dict[str, Any] = {"retain_graph": True, "create_graph": creates, "stops": True}
    found: list[Any] = _core.grad(ends, wanted, seeds, NATIVE, unused="missing", **keeps)
    reached: list[bool | None] = [None if d is None else True for d in found]
    if None in reached:
        # No gradient goes on behind any of the wanted tensors, so all of them are asked for again.
        zeros = _core.grad(ends, wanted, seeds, NATIVE, **keeps)
        reached = [is_one or (None if d is None else False) for is_one, d in zip(reached, zeros, strict=True)]
    return found, reached


def _where(reached: Sequence[bool], grads: Sequence[Tensor]) -> list[Tensor | None]:
    """The gradients, None in the place of those that are none."""
    return [g if is_one else None for is_one, g in zip(reached, grads, strict=True)]


def _there(grads: Sequence[Tensor | None], kinds: Sequence[Kind]) -> tuple[bool, ...]:
    """Which of the inexact tensors have a gradient."""
    return tuple(g is not None for g, kind in zip(grads, kinds, strict=True) if kind.is_inexact)


def _placed(grads: Sequence[Any], among: Sequence[Any], fits: Callable[[Any], bool] = is_inexact) -> list[Any]:
    """The gradients at the places of the tensors, or of those of their kinds, that have one."""
    left = iter(grads)
    return [next(left) if fits(x) else None for x in among]


def _filled(grads: Sequence[Tensor | None], kinds: Sequence[Kind], *lead: int) -> list[Tensor]:
    """The gradients of the inexact tensors, zeros for those that are missing."""
    pairs = zip(grads, kinds, strict=True)
    return [kind.zeros(*lead) if g is None else g for g, kind in pairs if kind.is_inexact]


def _refuse_batch(tensors: Sequence[Tensor]) -> None:
    """Makes a function that is applied to a batch run for each element."""
    if _core.batches(list(tensors)):
        raise VmapError("a program inside a loop or a branch does not run on a batch")


class Loop(Holder):
    """The steps of a scan: ``step(*carry, *row)`` returns the next carry and a row of each result."""

    def __init__(self, step: Part, carries: int, length: int, reverse: bool) -> None:
        note(self)
        self.step = step
        self.carries = carries
        self.length = length
        self.reverse = reverse
        #: The steps back: see :meth:`_back_step`.
        self._back: dict[Any, tuple[Part, list[bool | None]]] = {}

    def run(self, given: Sequence[Tensor]) -> list[Tensor]:
        """The last carry and the results, of the first carry and the columns."""
        if (batches := _core.batches(given)) and (found := self._in_batches(given, batches)) is not None:
            return found
        if _core.is_grad_enabled() and any(x.requires_grad for x in [*given, *self.step.constants]):
            # Traced now, because the variables that the function reads may change before the gradient is asked for.
            wants = self._wants([x.requires_grad for x in given])
            turns = self._turns([Kind.of(x) for x in given], wants, (True,) * len(_inexact(self.step.outputs)), ())
            with contextlib.suppress(_NoDerivative):  # The gradient runs the steps again then.
                any(is_last for *_, is_last in itertools.islice(turns, self.carries + 1))
        return list(_Scan.apply(self, *given, *self.step.constants)[: len(self.step.outputs)])

    def _in_batches(self, given: Sequence[Tensor], batches: Sequence[_core.Batch]) -> list[Tensor] | None:
        """What :meth:`run` returns, by a loop over whole batches; None where there is no such loop."""
        n = self.carries
        arguments = [*given[:n], *_first_rows(given[n:], self.reverse)]
        # The derivatives that a loop carries have the batch, or soon get it.
        whole = [*map(is_inexact, given[:n]), *_have_batches(given[n:])]
        if (found := in_batches(self.step, arguments, batches, n, whole)) is None:
            return None
        return Loop(found.part, n, self.length, self.reverse).applied(found, given)

    def _wants(self, needs: Sequence[bool]) -> tuple[bool, ...]:
        """For each argument whether the steps back compute its gradient: for a carry, and a column that needs one."""
        return (*(True for _ in needs[: self.carries]), *needs[self.carries :])

    def _back_step(
        self, given: Sequence[Kind], wants: tuple[bool, ...], has: tuple[bool, ...], more: tuple[bool, ...]
    ) -> tuple[Part, list[bool | None]]:
        """The step of the loop that computes the gradients, for a first carry and columns of these kinds.

        It carries the gradient of the carry and those of the constants. Its columns are the carries before each step,
        the columns, and the gradients of the results and, if there are ``more``, of the carries before each step.
        ``has`` says which of the next carry and of the results have a gradient: zeros in the place of the others would
        be gradients too, and where a derivative is infinite they would be NaN. The list says which of the carry, the
        rows that want one and the constants get one.
        """
        key = wants, has, more, self.step.live()
        if key in self._back:
            return self._back[key]
        carry = list(given[: self.carries])
        rows = [Kind(x.shape[1:], x.dtype, x.dialect) for x in given[self.carries :]]
        seeds, constants, carried = _inexact(self.step.outputs), _tracked(self.step), _inexact(carry)
        sums, count = len(carried), len(given)
        of_step, reached = _back(self.step, wants, has)
        sizes = (sums, len(constants), count, len(seeds) - sums, len(more))

        def back(*x: Tensor) -> list[Tensor]:
            places = itertools.accumulate(sizes, initial=0)
            g, totals, arguments, of_results, added = (x[a:b] for a, b in itertools.pairwise(places))
            grads = of_step(*g, *of_results, *arguments)
            before, of_rows = grads[:sums], grads[sums : len(grads) - len(constants)]
            parts = grads[len(grads) - len(constants) :]
            for i, is_there in enumerate(more):
                if is_there:
                    before[i] = before[i] + added[i] if reached[i] else added[i]
            return [*before, *(a + b for a, b in zip(totals, parts, strict=True)), *of_rows]

        arguments = [*carried, *constants, *carry, *rows, *seeds[sums:], *(carried if more else ())]
        self._back[key] = found = self.step.derivative(back, arguments), reached
        found[0].shared = {sums + len(constants) + i: batches for i, batches in self.step.shared.items()}
        return found

    def _turns(
        self, given: Sequence[Kind], wants: tuple[bool, ...], has: tuple[bool, ...], more: tuple[bool, ...]
    ) -> Iterator[tuple[Part, list[bool | None], tuple[bool, ...], bool]]:
        """The steps back from the last step on: each with what gets a gradient, which of the carries that it begins
        with do, and whether it is the one for all steps that are left.
        """
        sums = len(_inexact(self.step.outputs[: self.carries]))
        now, of_results = has[:sums], has[sums:]
        while any((*now, *of_results, *more)):
            step, reached = self._back_step(given, wants, (*now, *of_results), more)
            then = tuple(map(operator.or_, map(bool, reached[:sums]), more or (False,) * sums))
            yield step, reached, then, then == now
            now = then

    def gradients(
        self, given: Sequence[Tensor], needs: Sequence[bool], before: Sequence[Tensor], g: Sequence[Tensor | None]
    ) -> list[Any]:
        """The gradients of the carry, of the columns that need one, and of the constants."""
        n, outputs, kinds = self.carries, self.step.outputs, [Kind.of(x) for x in given]
        g, of_before = g[: len(outputs)], g[len(outputs) :]
        if not any(h is not None for h in of_before):
            of_before = []
        constants = _tracked(self.step)
        carry = [*_filled(g[:n], outputs[:n]), *(kind.zeros() for kind in constants)]
        columns = [*before, *given[n:], *_filled(g[n:], outputs[n:], self.length)]
        columns += _filled(of_before, outputs[: len(of_before)], self.length)
        wants = self._wants(needs)
        wanted = [i for i, kind in enumerate(kinds) if i >= n and wants[i] and kind.is_inexact]
        rows, shared = [kinds[i] for i in wanted], [self.step.live_shared(i) for i in wanted]
        parts: list[list[Tensor]] = []
        has_rows, has_constants = [False] * len(rows), [False] * len(constants)
        has_carry: tuple[bool, ...] = ()
        is_hidden = False
        left = self.length
        for step, reached, has_carry, is_last in self._turns(
            kinds, wants, _there(g, outputs), _there(of_before, outputs[: len(of_before)])
        ):
            size = left if is_last else 1
            cut = self._cut(columns, left, size, not self.reverse)
            found = Loop(step, len(carry), size, not self.reverse).run([*carry, *cut])
            carry = found[: len(carry)]
            parts.append([entered(x, batches, 1) for x, batches in zip(found[len(carry) :], shared, strict=True)])
            places = len(has_carry), len(reached) - len(constants)
            is_read = [x is not None for x in reached]
            is_hidden = is_hidden or False in reached
            has_rows = list(map(operator.or_, has_rows, is_read[slice(*places)]))
            has_constants = list(map(operator.or_, has_constants, is_read[places[1] :]))
            left -= size
            if not left:
                break
        if is_hidden:
            # A derivative that is all zero hides what else it would reach, so every input gets zeros.
            has_carry, has_rows = (True,) * len(has_carry), [True for _ in rows]
            has_constants = [True for _ in constants]
        if left:
            parts.append(
                [_core.make(native.zeros([left, *x.shape[1:]], dtype=x.dtype), None, False, x.dialect) for x in rows]
            )
        of_rows = _concatenated(parts, not self.reverse)
        return [
            *_placed(_where(has_carry, carry[: len(has_carry)]), given[:n]),
            *_placed(_where(has_rows, of_rows), range(n, len(given)), wanted.__contains__),
            *_placed(
                _for_constants(self.step, _where(has_constants, carry[len(has_carry) :])),
                self.step.found,
                _is_tracked,
            ),
        ]

    def recorded(self, given: Sequence[Tensor], g: Sequence[Tensor | None]) -> list[Any]:
        """What :meth:`gradients` returns, by steps that run again and are recorded one by one."""
        n, creates = self.carries, _core.is_grad_enabled()
        made: dict[int, list[Tensor]] = {}
        with enable_grad():
            # A carry or a column may be a tensor that the steps read as well. Their gradients are told apart.
            own = _with_edges([x * 1 if x.requires_grad else x for x in given])
            carry = own[:n]
            for t in reversed(range(self.length)) if self.reverse else range(self.length):
                outs = self.step.function(*carry, *(x[t] for x in own[n:]))
                made[t], carry = [*outs[n:], *carry], outs[:n]
            rows = zip(*(made[t] for t in range(self.length)), strict=True)
            ends = [*carry, *(native.stack(list(row)) for row in rows)]
        pairs = [(y, h) for y, h in zip(ends, g, strict=False) if is_inexact(y)]
        constants = [x for x in self.step.found if x.requires_grad]
        wanted = [*(x for x in own if is_inexact(x)), *map(_edge, constants)]
        grads, _ = _pulled_back([y for y, _ in pairs], [h for _, h in pairs], wanted, creates)
        first = len(wanted) - len(constants)
        of_constants = [
            None if h is None else left(h, self.step.axes(x)[::-1])
            for x, h in zip(constants, grads[first:], strict=True)
        ]
        of_constants = _for_constants(self.step, of_constants)
        return [*_placed(grads[:first], given), *_placed(of_constants, self.step.found, _is_tracked)]

    def _forward_step(self, has: Sequence[bool], moved: Sequence[Tensor | None]) -> tuple[Part, list[bool]]:
        """The step of the loop that computes the tangents.

        It carries the tangents of the inexact carries, of which only those count that there are (``has``). Its columns
        are the carries before each step, the columns, and those tangents of columns that there are in ``moved``, which
        has the tangents of the columns and of the constants. Its results are the tangents of the results, and those of
        the carries before each step. The list says, once it is traced, which of the next carry and of the results have
        a tangent; zeros stand for the others.
        """
        outputs, count = _inexact(self.step.outputs), len(self.step.outputs[: self.carries])
        columns = len(moved) - len(self.step.constants)
        sums, of_columns = len(has), moved[:columns]
        shared = [self.step.live_shared(count + i) for i in range(columns)]
        constants = [
            # A copy, as a program reads no two tensors that share memory, and t may be the constant itself.
            (_edge(x), entered(native.clone(t), _core.batches([x])))
            for x, t in zip(self.step.found, moved[columns:], strict=True)
            if t is not None and x.requires_grad
        ]
        reached: list[bool] = []

        def forward(*x: Tensor) -> list[Tensor]:
            t, values, rest = x[:sums], x[sums : sums + count + columns], iter(x[sums + count + columns :])
            creates = _core.is_grad_enabled()
            with enable_grad():
                inner = _with_edges(values)
                ends = [y for y in self.step.function(*inner) if is_inexact(y)]
            carried = [v for v in inner[:count] if is_inexact(v)]
            pairs = [(v, d) for v, d, is_there in zip(carried, t, has, strict=True) if is_there]
            own = zip(inner[count:], of_columns, shared, strict=True)
            pairs += [(v, entered(next(rest), those)) for v, d, those in own if d is not None]
            pairs += constants
            pushed = _core.push(ends, [v for v, _ in pairs], [d for _, d in pairs], creates)
            reached[:] = [d is not None for d in pushed]
            return [*_filled(pushed, outputs), *t]

        step = self.step.like(forward)
        step.shared = {sums + i: batches for i, batches in self.step.shared.items()}
        return step, reached

    def tangents(
        self, given: Sequence[Tensor], before: Sequence[Tensor], moved: Sequence[Tensor | None]
    ) -> list[Tensor | None] | None:
        """The tangents of the last carry, of the results and of the carries before each step, from those of the first
        carry, of the columns and of the constants. None where no program computes them.
        """
        n, outputs, kinds = self.carries, self.step.outputs, [Kind.of(x) for x in given]
        has, carry = _there(moved[:n], kinds[:n]), _filled(moved[:n], kinds[:n])
        of_columns = enumerate(moved[n : len(given)], n)
        shared = [left(t, self.step.live_shared(i), 1) for i, t in of_columns if t is not None]
        columns, count = [*before, *given[n:], *shared], len(carry)
        found = _core.batches([t for t in moved if t is not None])
        batches = [batch for batch in found if batch not in self.step.batches]
        reached_at_all = [False] * len(_inexact(outputs))
        parts: list[list[Tensor]] = []
        steps = self.length
        while steps:
            step, reached = self._forward_step(has, moved[n:])
            arguments = [*carry, *_first_rows(columns, self.reverse)]
            whole = [bool(batches) and (i < count or is_one) for i, is_one in enumerate(_have_batches(arguments))]
            if (traced := in_batches(step, arguments, batches, count, whole)) is None:
                return None
            # The tangents that a step begins with are those that the step before it has reached.
            size = steps if (then := tuple(reached[:count])) == has else 1
            loop = Loop(traced.part, count, size, self.reverse)
            outs = loop.applied(traced, [*carry, *self._cut(columns, steps, size, self.reverse)])
            carry = outs[:count]
            parts.append(outs[count:])
            # The results of a step, and the carries that it begins with.
            reached_at_all = list(map(operator.or_, reached_at_all, [*reached[count:], *has]))
            has, steps = then, steps - size
        of_rows = _where(reached_at_all, _concatenated(parts, self.reverse))
        return _placed([*_where(has, carry), *of_rows], [*outputs, *outputs[:n]])

    def applied(self, step: InBatches, given: Sequence[Tensor]) -> list[Tensor]:
        """The results of the loop for a carry and columns with batches: one node, whose step takes whole batches."""
        n = self.carries
        outs = _Scan.apply(self, *step.left(given, n), *self.step.constants)
        return step.entered(outs[: len(self.step.outputs)], n)

    def _cut(self, columns: Sequence[Tensor], left: int, size: int, from_end: bool) -> Sequence[Tensor]:
        """The rows of the next steps, where this many are left."""
        first = left - size if from_end else self.length - left
        return columns if size == self.length else [x[first : first + size] for x in columns]


def _concatenated(parts: list[list[Tensor]], reverse: bool) -> list[Tensor]:
    """Results of parts of a loop, of which the first one made the last rows if ``reverse``."""
    parts = parts[::-1] if reverse else parts
    return [x[0] if len(x) == 1 else native.concat(list(x)) for x in zip(*parts, strict=True)]


def _first_rows(columns: Sequence[Tensor], reverse: bool) -> list[Tensor]:
    """The rows of the first step of a loop along columns."""
    return [x[-1 if reverse else 0] for x in columns]


class _Scan(Function):
    """A scan as one node."""

    _reads_numbers = False

    @staticmethod
    def forward(ctx: Any, loop: Loop, *tensors: Tensor) -> Any:
        _refuse_batch(tensors)
        keeps = any(ctx.needs_input_grad)
        outs = _core.scan(loop.step.program, tensors, loop.carries, loop.length, loop.reverse, keeps)
        ctx.loop, ctx.count = loop, len(tensors)
        if keeps:
            ctx.set_materialize_grads(False)
            ctx.save_for_backward(*tensors, *outs[len(loop.step.outputs) :])
        return tuple(outs)

    @staticmethod
    def jvp(ctx: Any, _: None, *moved: Tensor | None) -> Any:
        saved = ctx.saved_tensors
        given = saved[: ctx.count - len(ctx.loop.step.constants)]
        found = ctx.loop.tangents(given, saved[ctx.count :], moved)
        return tuple(ctx._transposed_tangents(moved) if found is None else found)

    @staticmethod
    def backward(ctx: Any, *g: Tensor | None) -> Any:
        saved = ctx.saved_tensors
        loop, tensors, before = ctx.loop, saved[: ctx.count], saved[ctx.count :]
        given = tensors[: ctx.count - len(loop.step.constants)]
        try:
            return (None, *loop.gradients(given, ctx.needs_input_grad[1 : 1 + len(given)], before, g))
        except _NoDerivative as reason:
            _core.give_up_trace(str(reason))
            return (None, *loop.recorded(given, g))


class Branches(Holder):
    """Two branches: functions of the same tensors with outputs of the same kinds. One of them is taken."""

    def __init__(self, yes: Part, no: Part) -> None:
        note(self)
        self.parts = yes, no
        #: By which outputs have gradients: the branches that compute the gradients of the operands and constants, and
        #: which of these get one.
        self._back: dict[Any, tuple[Branches, list[bool]]] = {}

    def run(self, holds: Tensor, given: Sequence[Tensor]) -> list[Tensor]:
        """The outputs of the branch that is taken."""
        if (batches := _core.batches(given)) and not _core.batches([holds]):
            whole = [*map(is_inexact, given)]
            parts = [in_batches(part, given, batches, whole=whole) for part in self.parts]
            if parts[0] is not None and parts[1] is not None:
                outs = Branches(parts[0].part, parts[1].part).run(holds, parts[0].left(given))
                return parts[0].entered(outs)
        yes, no = self.parts
        return list(_Cond.apply(self, holds, *given, *yes.constants, *no.constants))

    def _backward(self, examples: Sequence[Tensor], has: tuple[bool, ...]) -> tuple[Branches, list[bool]]:
        yes, no = self.parts
        given = list(map(Kind.of, examples))
        key = has, yes.live()
        if key in self._back:
            return self._back[key]
        of_yes, of_no = _tracked(yes), _tracked(no)
        count = len(_inexact(given))

        def back(step: Part, before: list[Kind], after: list[Kind]) -> tuple[Part, list[bool]]:
            of_step, reached = _back(step, (True,) * len(given), has)

            def run(*x: Tensor) -> list[Tensor]:
                grads = of_step(*x)
                others = [[kind.zeros() for kind in kinds] for kinds in (before, after)]
                return [*grads[:count], *others[0], *grads[count:], *others[1]]

            traced = step.derivative(run, [*_inexact(yes.outputs), *given], examples)
            none = [False] * len(before), [False] * len(after)
            is_read = [x is not None for x in reached]
            return traced, [*is_read[:count], *none[0], *is_read[count:], *none[1]]

        (first, of_first), (second, of_second) = back(yes, [], of_no), back(no, of_yes, [])
        self._back[key] = found = Branches(first, second), list(map(operator.or_, of_first, of_second))
        return found

    def gradients(self, holds: Tensor, given: Sequence[Tensor], g: Sequence[Tensor | None]) -> list[Any]:
        """The gradients of the operands and of the constants of both branches."""
        yes, no = self.parts
        try:
            back, reached = self._backward(given, _there(g, yes.outputs))
        except _NoDerivative as reason:
            _core.give_up_trace(str(reason))
            return self._recorded(holds, given, g)
        found = _where(reached, back.run(holds, [*_filled(g, yes.outputs), *given]))
        count = len([x for x in given if is_inexact(x)])
        of_no = count + len(_tracked(yes))
        of_constants = [*_for_constants(yes, found[count:of_no]), *_for_constants(no, found[of_no:])]
        return [*_placed(found[:count], given), *_placed(of_constants, [*yes.found, *no.found], _is_tracked)]

    def tangents(
        self, holds: Tensor, given: Sequence[Tensor], moved: Sequence[Tensor | None]
    ) -> list[Tensor | None] | None:
        """The tangents of the outputs, from those of the operands and of the constants of both branches. None where no
        program computes them.
        """
        count, (yes, no) = len(given), self.parts
        own = [left(t, yes.live_shared(i)) for i, t in enumerate(moved[:count]) if t is not None]
        others = [t for t in moved[count:] if t is not None]
        arguments = [*given, *own, *others]
        batches = [batch for batch in _core.batches([*own, *others]) if batch not in yes.batches]
        whole = [bool(batches) and is_one for is_one in _have_batches(arguments)]
        reached = [False] * len(_inexact(yes.outputs))
        of_yes = moved[count : count + len(yes.constants)]
        of_no = moved[count + len(yes.constants) :]
        traced = []
        after = count + len(own)
        for part, of_constants in ((yes, of_yes), (no, of_no)):
            step = self._forward(part, moved[:count], of_constants, after, reached)
            traced.append(in_batches(step, arguments, batches, whole=whole))
            after += len([t for t in of_constants if t is not None])
        first, second = traced
        if first is None or second is None:
            return None
        outs = first.entered(Branches(first.part, second.part).run(holds, first.left(arguments)))
        return _placed(_where(reached, outs), yes.outputs)

    def _forward(
        self,
        part: Part,
        of_given: Sequence[Tensor | None],
        of_constants: Sequence[Tensor | None],
        at: int,
        reached: list[bool],
    ) -> Part:
        """The branch that computes the tangents of the outputs, zeros for those that it does not reach.

        Its arguments are the operands and the tangents that there are: first those of the operands, and from ``at`` on
        those of the constants.
        """
        count, kinds = len(of_given), _inexact(part.outputs)
        own = [(i, part.live_shared(i)) for i, t in enumerate(of_given) if t is not None]
        constants = [x for x, t in zip(part.found, of_constants, strict=True) if t is not None]
        ends = [(_edge(x), _core.batches([x])) for x in constants]

        def forward(*x: Tensor) -> list[Tensor]:
            creates = _core.is_grad_enabled()
            with enable_grad():
                inner = _with_edges(x[:count])
                outs = [y for y in part.function(*inner) if is_inexact(y)]
            pairs = [(inner[i], entered(t, those)) for (i, those), t in zip(own, x[count:], strict=False)]
            pairs += [(edge, entered(t, those)) for (edge, those), t in zip(ends, x[at:], strict=False)]
            pushed = _core.push(outs, [v for v, _ in pairs], [t for _, t in pairs], creates)
            reached[:] = [before or t is not None for before, t in zip(reached, pushed, strict=True)]
            return _filled(pushed, kinds)

        step = part.like(forward)
        step.shared = part.shared
        return step

    def _recorded(self, holds: Tensor, given: Sequence[Tensor], g: Sequence[Tensor | None]) -> list[Any]:
        """What :meth:`gradients` returns, by the branch that is taken, which runs again."""
        taken = self.parts[0 if bool(holds) else 1]
        of_taken, reached = _back(taken, (True,) * len(given), _there(g, taken.outputs))
        # An operand may be a tensor that the branch reads as well. Their gradients are told apart.
        with enable_grad():
            own = [x * 1 if x.requires_grad else x for x in given]
        found = of_taken(*_filled(g, taken.outputs), *own)
        grads = _where([x is not None for x in reached], found)
        count = len([x for x in given if is_inexact(x)])
        of_constants = _placed(_for_constants(taken, grads[count:]), taken.found, _is_tracked)
        sides = (of_constants if part is taken else [None] * len(part.found) for part in self.parts)
        return [*_placed(grads[:count], given), *itertools.chain(*sides)]


class _Cond(Function):
    """A branch that is taken, as one node."""

    _reads_numbers = False

    @staticmethod
    def forward(ctx: Any, branches: Branches, *tensors: Tensor) -> Any:
        _refuse_batch(tensors)
        yes, no = branches.parts
        ctx.branches, ctx.count = branches, len(tensors) - len(yes.constants) - len(no.constants)
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(*tensors)
        return tuple(_core.cond(yes.program, no.program, tensors))

    @staticmethod
    def jvp(ctx: Any, _: None, __: None, *moved: Tensor | None) -> Any:
        holds, *given = ctx.saved_tensors[: ctx.count]
        found = ctx.branches.tangents(holds, given, moved)
        return tuple(ctx._transposed_tangents((None, *moved)) if found is None else found)

    @staticmethod
    def backward(ctx: Any, *g: Tensor | None) -> Any:
        holds, *given = ctx.saved_tensors[: ctx.count]
        return (None, None, *ctx.branches.gradients(holds, given, g))


class Repeated(Holder):
    """The steps of a loop that ends where a test fails, as one node. It is traced inside a compiled function."""

    def __init__(self, test: Part, step: Part) -> None:
        note(self)
        self.test = test
        self.step = step
        #: What :meth:`backward` returns, by which carries have gradients at the end.
        self._back: dict[Any, tuple[list[Part], int, list[bool]]] = {}

    def run(self, carry: Sequence[Tensor]) -> list[Tensor]:
        """The last carry."""
        if (batches := _core.batches(carry)) and (last := self._in_batches(carry, batches)) is not None:
            return last
        # No gradient flows into the test.
        tested = [x.detach() for x in self.test.constants]
        return list(_While.apply(self, *carry, *tested, *self.step.constants))

    def _in_batches(self, carry: Sequence[Tensor], batches: Sequence[_core.Batch]) -> list[Tensor] | None:
        """What :meth:`run` returns, by a loop over whole batches; None where there is none, or its end differs."""
        shares = any(x.requires_grad for x in carry if not _core.batches([x]))
        if shares or (found := in_batches(self.step, carry, batches, len(carry))) is None:
            return None
        test = in_batches(self.test, carry, batches, 1, found.arguments)
        if test is None or test.arguments != found.arguments:
            return None
        return found.entered(Repeated(test.part, found.part).run(found.left(carry)))

    def backward(self, carry: Sequence[Kind], has: tuple[bool, ...]) -> tuple[list[Part], int, list[bool]]:
        """The steps back in turn, the one that follows the last of these, and which of the carries and of the constants
        get a gradient.

        Each step is for those of the carries that have a gradient there: zeros in the place of the others would be
        gradients too, and where a derivative is infinite they would be NaN.
        """
        key = has, self.step.live()
        if key in self._back:
            return self._back[key]
        constants, sums = _tracked(self.step), len(has)
        turns: dict[tuple[bool, ...], Part] = {}
        reached_at_all = [*has, *(False for _ in constants)]
        now, is_hidden = has, False
        while now not in turns:
            of_step, reached = _back(self.step, (True,) * len(carry), now)

            def step(*x: Tensor, of_step: Any = of_step) -> list[Tensor]:
                totals = x[sums : sums + len(constants)]
                grads = of_step(*x[:sums], *x[sums + len(constants) :])
                return [*grads[:sums], *(a + b for a, b in zip(totals, grads[sums:], strict=True))]

            turns[now] = self.step.derivative(step, [*_inexact(carry), *constants, *carry])
            is_hidden = is_hidden or False in reached
            reached_at_all = [before or x is not None for before, x in zip(reached_at_all, reached, strict=True)]
            now = tuple(map(bool, reached[:sums]))
        if is_hidden:
            # A derivative that is all zero hides what else it would reach, so every input gets zeros.
            reached_at_all = [True for _ in reached_at_all]
        self._back[key] = found = list(turns.values()), list(turns).index(now), reached_at_all
        return found

    def gradients(self, tensors: Sequence[Tensor], g: Sequence[Tensor], has: tuple[bool, ...]) -> list[Any]:
        """The gradients of the carry and of the constants, computed by a second run and a walk back."""
        carry, constants = tensors[: len(self.step.outputs)], _tracked(self.step)
        sums = len(has)
        back, again, _ = self.backward([Kind.of(x) for x in carry], has)
        first = [*g, *(kind.zeros() for kind in constants)]
        if batches := _core.batches(g):
            _refuse_batch(tensors)
            # What the last steps give a batch has one from the beginning.
            whole = [*(True for _ in first), *(False for _ in carry)]
            parts = [in_batches(part, [*first, *carry], batches, len(first), whole) for part in back]
            first = [left(x, batches) for x in first]
            back = [part.part for part in parts if part is not None]
            if len(back) < len(parts):
                _refuse_batch(g)
        others = [x for part in back for x in part.constants]
        programs = [part.program for part in back]
        found = _core.while_gradient(self.test.program, self.step.program, programs, again, [*first, *tensors, *others])
        found = [entered(x, batches) for x in found]
        return [
            *_placed(found[:sums], carry),
            *(None for _ in self.test.constants),
            *_placed(found[sums:], self.step.constants, _is_tracked),
        ]

    def tangents(self, tensors: Sequence[Tensor], moved: Sequence[Tensor | None]) -> list[Tensor | None] | None:
        """The tangents of the last carry from those of the carry and of the constants: a loop that computes both. None
        where no program does, as where a constant was computed from another one that has a tangent.
        """
        count = len(self.step.outputs)
        carry, kinds = tensors[:count], [Kind.of(x) for x in tensors]
        constants = kinds[len(kinds) - len(self.step.constants) :]
        of_carry, of_constants = moved[:count], moved[len(moved) - len(constants) :]
        tracked = [i for i, x in enumerate(self.step.found) if x.requires_grad]
        ends = [_edge(self.step.found[i]) for i in tracked]
        batches = [_core.batches([self.step.found[i]]) for i in tracked]
        own = [
            *_filled(of_carry, kinds[:count]),
            *(constants[i].zeros() if (t := of_constants[i]) is None else t for i in tracked),
        ]
        first = len(own) - len(ends)

        def both(*x: Tensor) -> list[Tensor]:
            values, t = x[:count], x[count:]
            creates = _core.is_grad_enabled()
            with enable_grad():
                inner = _with_edges(values)
                outputs = self.step.function(*inner)
            places = [*(v for v in inner if is_inexact(v)), *ends]
            turned = [*t[:first], *map(entered, t[first:], batches)]
            pushed = _core.push([y for y in outputs if is_inexact(y)], places, turned, creates)
            kinds = [kind for kind in self.step.outputs if kind.is_inexact]
            return [*outputs, *_filled(pushed, kinds), *t[first:]]

        more = [*kinds[:count], *map(Kind.of, own)]
        step, test = self.step.like(both), self.test.like(lambda *x: self.test.function(*x[:count]))
        with no_grad():
            examples = [kind.zeros() for kind in more]
            if not step.can_trace(examples) or not test.can_trace(examples):
                return None
        found = Repeated(test, step).run([*carry, *own])
        return _placed(found[count:], carry)

    def recorded(self, tensors: Sequence[Tensor], g: Sequence[Tensor | None]) -> list[Tensor]:
        """The gradients of the tracked tensors, recorded step by step: no program knows how many steps there are."""
        value = carry = list(tensors[: len(self.step.outputs)])
        while bool(self.test.function(*value)[0]):
            value = self.step.function(*value)
        kinds = [*(Kind.of(x) for x in carry if x.requires_grad), *_tracked(self.step)]
        grads = self.arrived([y for y in value if is_inexact(y)], g, [], carry, True)
        return [kind.zeros() if h is None else h for h, kind in zip(grads, kinds, strict=True)]

    def arrived(
        self,
        outputs: Sequence[Tensor],
        g: Sequence[Tensor | None],
        more: list[Any],
        carry: Sequence[Tensor],
        creates: bool,
    ) -> list[Tensor | None]:
        """The gradients of ``more`` edges, of a carry and of the constants, if tracked, with batches as axes."""
        constants = [x for x in self.step.found if x.requires_grad]
        wanted = [*more, *(_edge(x) for x in carry if x.requires_grad), *map(_edge, constants)]
        grads = pulled_back(outputs, g, wanted, creates)
        for i, x in enumerate(constants, len(wanted) - len(constants)):
            if (h := grads[i]) is not None:
                grads[i] = left(h, self.step.axes(x)[::-1])
        return grads


class _While(Function):
    """A loop that ends where a test fails, as one node."""

    _reads_numbers = False

    @staticmethod
    def forward(ctx: Any, loop: Repeated, *tensors: Tensor) -> Any:
        _refuse_batch(tensors)
        ctx.loop = loop
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(*tensors)
        return tuple(_core.while_loop(loop.test.program, loop.step.program, tensors))

    @staticmethod
    def jvp(ctx: Any, _: None, *moved: Tensor | None) -> Any:
        found = ctx.loop.tangents(ctx.saved_tensors, moved)
        return tuple(ctx._transposed_tangents(moved) if found is None else found)

    @staticmethod
    def backward(ctx: Any, *g: Tensor | None) -> Any:
        loop, tensors = ctx.loop, ctx.saved_tensors
        seeds, has = _filled(g, loop.step.outputs), _there(g, loop.step.outputs)
        found = _placed(_WhileGradient.apply(loop, has, *seeds, *tensors), tensors, _is_tracked)
        carry = tensors[: len(loop.step.outputs)]
        *_, reached = loop.backward([Kind.of(x) for x in carry], has)
        is_there = [
            *_placed(reached[: len(has)], carry),
            *(None for _ in loop.test.constants),
            *_placed(reached[len(has) :], loop.step.constants, _is_tracked),
        ]
        grads = [y if is_one else None for y, is_one in zip(found, is_there, strict=True)]
        first = len(grads) - len(loop.step.constants)
        of_constants = [g for g, x in zip(grads[first:], loop.step.found, strict=True) if x.requires_grad]
        of_constants = _for_constants(loop.step, of_constants)
        return (None, *grads[:first], *_placed(of_constants, loop.step.found, _is_tracked))


class _WhileGradient(Function):
    """The gradients of a :class:`_While`, as one node."""

    _reads_numbers = False

    @staticmethod
    def forward(ctx: Any, loop: Repeated, has: tuple[bool, ...], *tensors: Tensor) -> Any:
        count = len(has)
        ctx.loop, ctx.count, ctx.has = loop, count, has
        ctx.save_for_backward(*tensors)
        found = loop.gradients(tensors[count:], tensors[:count], has)
        return tuple(y for y, x in zip(found, tensors[count:], strict=True) if x.requires_grad)

    @staticmethod
    def backward(ctx: Any, *h: Tensor) -> Any:
        _core.give_up_trace("it differentiates a while_loop twice, which a program cannot; scan can be")
        tensors = list(ctx.saved_tensors)
        with enable_grad():
            # A carry may be a tensor that the loop reads as well. Their gradients are told apart.
            for i in range(ctx.count + len(ctx.loop.step.outputs)):
                if tensors[i].requires_grad:
                    tensors[i] = tensors[i] * 1
            with _core.Live(_core.batches(tensors)):
                found = ctx.loop.recorded(tensors[ctx.count :], _where(ctx.has, tensors[: ctx.count]))
        step, seeds = ctx.loop.step, [_edge(x) for x in tensors[: ctx.count] if x.requires_grad]
        carry = tensors[ctx.count : ctx.count + len(step.outputs)]
        grads = ctx.loop.arrived(found, h, seeds, carry, _core.is_grad_enabled())
        first = len(grads) - len(_tracked(step))
        of_constants = _for_constants(step, grads[first:])
        others = tensors[: len(tensors) - len(step.constants)]
        return (
            None,
            None,
            *_placed(grads[:first], others, _is_tracked),
            *_placed(of_constants, step.found, _is_tracked),
        )
