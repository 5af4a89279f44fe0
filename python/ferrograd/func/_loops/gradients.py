"""What the steps back compute: the gradients of a part."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ferrograd import _core
from ferrograd._autograd.modes import enable_grad
from ferrograd._core import Tensor, native
from ferrograd._kit.dialect import NATIVE
from ferrograd.func._loops.parts import Part, tracked_kinds
from ferrograd.func._loops.tensors import edge_of, is_inexact, left, with_edge


def step_back(
    step: Part, wants: Sequence[bool], has: Sequence[bool]
) -> tuple[Callable[..., list[Tensor]], list[bool | None]]:
    """The gradients of a step: of its inexact arguments that want one, and of its tracked constants.

    The function gets the gradients of the inexact outputs, of which only those count that there are (``has``), and the
    arguments. The list says, once it is traced, which of its results are gradients. The others are zeros: False stands
    for one whose derivatives are all zero, as those of a sign, and None for one that is not read at all.
    """
    tracked = [x for x in step.found if x.requires_grad]
    ends, of_constants = [*map(edge_of, tracked)], tracked_kinds(step)
    axes = [step.axes(x)[::-1] for x in tracked]
    shared = [step.live_shared(i) for i in range(len(wants))]
    reached: list[bool | None] = []

    def back(*given: Tensor) -> list[Tensor]:
        g = [x if is_there else None for x, is_there in zip(given, has, strict=False)]
        arguments = given[len(has) :]
        creates = _core.is_grad_enabled()
        with enable_grad():
            inner = [with_edge(x) if wanted else x for x, wanted in zip(arguments, wants, strict=False)]
            outputs = [y for y in step.function(*inner) if is_inexact(y)]
        own = [x for x, wanted in zip(inner, wants, strict=True) if wanted and is_inexact(x)]
        leave = [those for x, those, wanted in zip(inner, shared, wants, strict=True) if wanted and is_inexact(x)]
        wanted = [*own, *ends]
        grads, reached[:] = reached_gradients(outputs, g, wanted, creates)
        of_own = [native.zeros_like(v) if d is None else d for v, d in zip(own, grads[: len(own)], strict=True)]
        found = zip(of_constants, grads[len(own) :], axes, strict=True)
        return [
            *(left(d, those) for d, those in zip(of_own, leave, strict=True)),
            *(kind.zeros() if d is None else left(d, those) for kind, d, those in found),
        ]

    return back, reached


def for_constants(part: Part, grads: Sequence[Tensor | None]) -> list[Tensor | None]:
    """The gradients of the tracked constants, each with the batches that its constant lacks as batches again."""
    given = []
    for x, g in zip((x for x in part.found if x.requires_grad), grads, strict=True):
        axes = part.axes(x)
        for batch in [batch for batch in axes if not batch.has(x)]:
            g = g if g is None else batch.enter(g, axes.index(batch))
            axes.remove(batch)
        given.append(g)
    return given


def reached_gradients(
    outputs: list[Tensor], g: list[Tensor | None], wanted: list[Any], creates: bool
) -> tuple[list[Any], list[bool | None]]:
    """The gradients of the wanted tensors, None where no cotangent arrives, and what :func:`step_back` says of them."""
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
