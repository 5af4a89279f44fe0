"""Steps and branches that are traced, and what they read."""

from __future__ import annotations

import types
from collections.abc import Callable, Sequence
from typing import Any

from ferrograd import _core
from ferrograd._autograd.modes import enable_grad, no_grad
from ferrograd._compile.dependencies import Names, Refused
from ferrograd._compile.holders import Holder
from ferrograd._compile.reader import Reader
from ferrograd._core import Tensor, native
from ferrograd._kit.dialect import dialect_of
from ferrograd.func._loops.tensors import Kind, edge_of, unbatched

Flat = Callable[..., list[Tensor]]


class NoDerivative(RuntimeError):
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
            if x.requires_grad and (edge := edge_of(x)) in edges:
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
            if own.requires_grad != known.requires_grad or (own.requires_grad and edge_of(own) != edge_of(known)):
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
                raise NoDerivative(part.refusal)
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


def meet_batches(parts: Sequence[Part], arguments: Sequence[Tensor]) -> list[_core.Batch]:
    """Finds the batches of the arguments and of the tensors that the parts read, for all of the parts."""
    found = [*arguments, *(x for part in parts for x in part.reads())]
    batches = _core.batches(found)
    if (mask := _core.takers().mask) is not None and any(batch.has(mask) for batch in batches):
        batches = _core.batches([*found, mask])
    for part in parts:
        part.batches[:] = batches
    return batches


def tracked_kinds(part: Part) -> list[Kind]:
    """The kinds of the gradients of the constants that gradients flow into."""
    found = [x for x in part.found if x.requires_grad]
    return [Kind([*map(len, part.axes(x)), *x.shape], x.dtype, dialect_of(x)) for x in found]


def _example(x: Tensor) -> Tensor:
    """A contiguous tensor of its own with the numbers of another."""
    copy = native.clone(x.detach()).contiguous().detach()
    return _core.require_grad(copy) if x.requires_grad and _core.is_grad_enabled() else copy


def _within(batches: list[_core.Batch], mask: Tensor | None, function: Flat) -> Flat:
    """The function for each of these examples of batches, whenever it is called."""

    def run(*x: Tensor) -> list[Tensor]:
        with _core.Live(batches), _core.Takers(mask, joins=False):
            return function(*x)

    return run


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
