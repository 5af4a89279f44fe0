"""Kinds of tensors, the batches of vmap as their axes, and lists of gradients in which some are missing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ferrograd import _core
from ferrograd._core import Tensor, VmapError, native
from ferrograd._kit.dialect import dialect_of


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


def edge_of(x: Tensor) -> Any:
    return _core.gradient_edge(x)


def with_edge(x: Tensor) -> Tensor:
    """The tensor, tracked if it can have a gradient."""
    return x if x.requires_grad or not is_inexact(x) else _core.require_grad(x.detach())


def with_edges(tensors: Sequence[Tensor]) -> list[Tensor]:
    """The tensors. Those that can have a gradient are tracked."""
    return list(map(with_edge, tensors))


def is_tracked(x: Tensor) -> bool:
    return x.requires_grad


def is_inexact(x: Any) -> bool:
    """Whether a tensor, or one of this kind, can have a gradient."""
    return x.dtype.kind in "fc"


def inexact_kinds(kinds: Sequence[Kind]) -> list[Kind]:
    return [kind for kind in kinds if kind.is_inexact]


def only_where(reached: Sequence[bool], grads: Sequence[Tensor]) -> list[Tensor | None]:
    """The gradients, None in the place of those that are none."""
    return [g if is_one else None for is_one, g in zip(reached, grads, strict=True)]


def are_there(grads: Sequence[Tensor | None], kinds: Sequence[Kind]) -> tuple[bool, ...]:
    """Which of the inexact tensors have a gradient."""
    return tuple(g is not None for g, kind in zip(grads, kinds, strict=True) if kind.is_inexact)


def placed(grads: Sequence[Any], among: Sequence[Any], fits: Callable[[Any], bool] = is_inexact) -> list[Any]:
    """The gradients at the places of the tensors, or of those of their kinds, that have one."""
    left = iter(grads)
    return [next(left) if fits(x) else None for x in among]


def filled(grads: Sequence[Tensor | None], kinds: Sequence[Kind], *lead: int) -> list[Tensor]:
    """The gradients of the inexact tensors, zeros for those that are missing."""
    pairs = zip(grads, kinds, strict=True)
    return [kind.zeros(*lead) if g is None else g for g, kind in pairs if kind.is_inexact]


def refuse_batch(tensors: Sequence[Tensor]) -> None:
    """Makes a function that is applied to a batch run for each element."""
    if _core.batches(list(tensors)):
        raise VmapError("a program inside a loop or a branch does not run on a batch")
