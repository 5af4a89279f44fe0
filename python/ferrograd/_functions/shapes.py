"""Windows along an axis of a tensor, which both dialects take as views."""

from __future__ import annotations

from typing import Any

import numpy as np

from ferrograd._core import ArgumentError, ShapeError, Tensor, native as ops
from ferrograd._kit import arguments as _arguments


def windows(x: Tensor, axis: int, size: int, step: int) -> Any:
    """A view of all windows of ``size`` elements along an axis, ``step`` apart. The last axis runs inside a window."""
    shape = list(_arguments.tensor(x, "unfold", "x").shape) or [1]
    axis = _arguments.axis(axis, "unfold", len(shape))
    size, step = (_arguments.integer(v, "unfold", "an argument") for v in (size, step))
    if not 0 <= size <= shape[axis]:
        raise ShapeError(f"maximum size for tensor at dimension {axis} is {shape[axis]} but size is {size}")
    if step < 1:
        raise ArgumentError(f"step is {step} but must be > 0")
    strides = [int(np.prod(shape[i + 1 :], dtype=object)) for i in range(len(shape))]
    along = strides[axis]
    shape[axis], strides[axis] = (shape[axis] - size) // step + 1, along * min(step, shape[axis])
    if not x.ndim:
        return ops.as_strided(x, [size], [1])
    return ops.as_strided(x, [*shape, size], [*strides, along])
