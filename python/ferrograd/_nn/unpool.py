"""The reverse of pools of maxima, which both dialects have."""

from __future__ import annotations

import math
from typing import Any

from ferrograd import _arguments, _core
from ferrograd._core import ArgumentError, ShapeError, Tensor
from ferrograd._core import native as ops


def max_unpool(
    x: Tensor, indices: Tensor, kernel_size: Any, stride: Any, padding: Any, output_size: Any, axes: int
) -> Any:
    """Zeros with the elements of ``x`` at flat positions in their channel, for some number of spatial axes.

    ``output_size`` is that of the input of the pool, if several are possible.
    """
    function = f"max_unpool{axes}d"
    shape = _arguments.tensor(x, function, "input").shape
    if list(_arguments.tensor(indices, function, "indices").shape) != list(shape):
        raise ShapeError(f"{function}: indices of shape {list(indices.shape)} for elements of shape {list(shape)}")

    if len(shape) < axes + 1:
        raise ShapeError(f"{function}: the input has {axes + 1} axes or more, not the shape {list(shape)}")

    def each(value: Any) -> list[int]:
        return list(value) if isinstance(value, list | tuple) else [value] * axes

    window, pads = each(kernel_size), each(padding)
    steps = window if stride is None else each(stride)
    sizes = [(m - 1) * s + k - 2 * p for m, s, k, p in zip(shape[-axes:], steps, window, pads, strict=True)]
    if output_size is not None:
        wanted = list(output_size)[-axes:]
        for axis, (size, usual, step) in enumerate(zip(wanted, sizes, steps, strict=True)):
            if not usual - step < size < usual + step:
                raise ArgumentError(
                    f'invalid output_size "{output_size}" (dim {axis} must be between {usual - step} and '
                    f"{usual + step})"
                )
        sizes = wanted
    outer = list(shape[:-axes])
    flat = ops.broadcast_to(ops.zeros_like(ops.sum(x[..., :1], list(range(-axes, 0)))), outer)
    zeros = ops.broadcast_to(ops.expand_dims(flat, -1), [*outer, math.prod(sizes)])
    values, places = (ops.reshape(part, [*outer, math.prod(shape[-axes:])]) for part in (x, indices))
    return ops.reshape(_core.from_zero(ops.scatter, zeros, -1, places, values), [*outer, *sizes])
