"""Reductions that both dialects have."""

from __future__ import annotations

import math
from typing import Any

from ferrograd._core import Tensor, native as ops


def lower_median(x: Tensor) -> Any:
    """The median of all elements, the smaller of two middle ones. Elements equal to it share the gradient evenly."""
    x = ops.reshape(x, [-1])
    middle, _ = ops.median_with_index(x, 0, False)
    if middle.dtype.kind != "f":
        return middle
    other = ops.logical_or(x < middle, x > middle)
    highest = ops.max(ops.where(other, float("-inf"), x))
    return ops.where(middle == float("-inf"), ops.min(x), highest)


def nan_lower_median(x: Tensor) -> tuple[Any, Any, Any]:
    """The medians along the last axis of the elements that are not NaN: the smaller of two middle ones, its index, and
    the larger one. Where there is no element they are NaN, without a derivative.
    """
    # NaN is sorted to the end.
    values, at = ops.sort_with_index(x, -1)
    if x.dtype.kind not in "biu":
        values = ops.where(ops.equal(values, values), values, math.nan)
    count = ops.sum(ops.equal(x, x), -1, keepdims=True)
    middle = ops.maximum(ops.floor_divide(count - 1, 2), 0)
    found = (
        ops.take_along_axis(values, middle, -1),
        ops.take_along_axis(at, middle, -1),
        ops.take_along_axis(values, ops.maximum(ops.minimum(ops.floor_divide(count, 2), count - 1), 0), -1),
    )
    value, index, upper = (ops.squeeze(part, [-1]) for part in found)
    return value, index, upper
