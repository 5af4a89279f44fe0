"""Parts as those of whole batches of vmap."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ferrograd import _core
from ferrograd._autograd.modes import no_grad
from ferrograd._core import Tensor
from ferrograd.func._loops.parts import Part
from ferrograd.func._loops.tensors import entered, left


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
    is_whole = have_batches(given) if whole is None else list(whole)

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


def have_batches(given: Sequence[Tensor]) -> list[bool]:
    """Which tensors have a batch."""
    return [bool(_core.batches([x])) for x in given]


def _together(some: Sequence[_core.Batch], others: Sequence[_core.Batch]) -> list[_core.Batch]:
    """The batches of two lists, the innermost one first."""
    every: list[Any] = [*some, *(batch for batch in others if batch not in some)]
    return sorted(every, reverse=True)
