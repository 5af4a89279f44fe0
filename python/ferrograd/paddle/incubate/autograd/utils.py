"""``paddle.incubate.autograd.utils``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ferrograd._kit import public as _public
from ferrograd.paddle._tensor import Tensor

__all__ = ["as_tensors"]


def as_tensors(xs: Any) -> Any:
    """A tensor as a tuple of one, a sequence as a tuple, any other value as it is."""
    if isinstance(xs, Tensor):
        return (xs,)
    return tuple(xs) if isinstance(xs, Sequence) else xs


__dir__ = _public.names(globals())
