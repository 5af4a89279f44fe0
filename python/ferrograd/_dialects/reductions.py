"""Reductions that both dialects have."""

from __future__ import annotations

from ferrograd._core import Tensor
from ferrograd._core import native as ops


def lower_median(x: Tensor) -> Tensor:
    """The median of all elements, the smaller of two middle ones. Elements equal to it share the gradient evenly."""
    x = ops.reshape(x, [-1])
    middle, _ = ops.median_with_index(x, 0, False)
    if middle.dtype.kind != "f":
        return middle
    other = ops.logical_or(x < middle, x > middle)
    highest = ops.max(ops.where(other, float("-inf"), x))
    return ops.where(middle == float("-inf"), ops.min(x), highest)
