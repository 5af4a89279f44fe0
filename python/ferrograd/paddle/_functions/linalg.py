"""Paddle's functions of matrices that its root namespace has."""

from __future__ import annotations

from ferrograd._core import ShapeError, paddle as ops
from ferrograd._kit import arguments as _arguments
from ferrograd.paddle._tensor import Tensor

__all__ = ["vander"]


def vander(x: Tensor, n: int | None = None, increasing: bool = False, name: str | None = None) -> Tensor:
    """The powers of a vector's elements as ``n`` columns: falling, or ``increasing``."""
    if _arguments.tensor(x, "vander", "x").ndim != 1:
        raise ShapeError(f"vander: x must be a vector, got shape {list(x.shape)}")
    powers = ops.linalg.vander(x, n)
    return powers if increasing else ops.flip(powers, -1)
