"""Derivatives of samples, from the differences of neighbours."""

from __future__ import annotations

from typing import Any

from ferrograd._core import ArgumentError, ShapeError, Tensor, native as ops
from ferrograd._kit import arguments as _arguments


def derivatives(input: Any, spacing: Any, dim: Any, edge_order: int, function: str) -> Any:
    """The derivative along each axis of ``dim``, from differences of the second order; at the ends of ``edge_order``.

    ``spacing`` is the distance of the samples, one number for all axes or one for each, or a vector of places for each.
    Errors speak of ``function``.
    """
    input = _arguments.tensor(input, function.rpartition(".")[2], "input")
    if input.dtype.kind in "iub":
        input = ops.cast(input, ops.get_default_dtype())
    if edge_order not in (1, 2):
        raise ArgumentError(f"{function} only supports edge_order=1 and edge_order=2, got {edge_order}")
    spacing = 1 if spacing is None else spacing
    axes = range(input.ndim) if dim is None else [dim] if isinstance(dim, int) else list(dim)
    if len({axis % max(input.ndim, 1) for axis in axes}) < len(axes):
        raise ArgumentError(f"{function}: an axis appears multiple times in {list(axes)}")
    each = list(spacing) if isinstance(spacing, list | tuple) else [spacing] * len(axes)
    if len(each) != len(axes):
        raise ArgumentError(f"{function} expected spacing for {len(axes)} axes, got {len(each)}")
    return tuple(_derivative(input, step, axis, edge_order, function) for step, axis in zip(each, axes, strict=True))


def _derivative(x: Tensor, step: Any, axis: int, edge_order: int, function: str) -> Tensor:
    """The derivative along one axis."""
    n = x.shape[axis]
    if n < edge_order + 1:
        raise ArgumentError(
            f"{function} expected each dimension size to be at least edge_order+1, got {n} for axis {axis}"
        )
    x = ops.moveaxis(x, axis, -1)
    if isinstance(step, Tensor) and step.ndim:
        places = ops.cast(step, x.dtype)
        if tuple(places.shape) != (n,):
            raise ShapeError(f"{function} expected {n} coordinates along axis {axis}, got {list(places.shape)}")
        steps = ops.diff(places)
    else:
        steps = ops.broadcast_to(ops.full([], step, x.dtype) if not isinstance(step, Tensor) else step, [n - 1])
    slopes = ops.diff(x) / steps
    left, right = steps[:-1], steps[1:]
    inner = (left * slopes[..., 1:] + right * slopes[..., :-1]) / (left + right)
    first, last = slopes[..., :1], slopes[..., -1:]
    if edge_order == 2:
        first = first - (slopes[..., 1:2] - first) * steps[:1] / (steps[:1] + steps[1:2])
        last = last + (last - slopes[..., -2:-1]) * steps[-1:] / (steps[-1:] + steps[-2:-1])
    return ops.moveaxis(ops.concat([first, inner, last], -1), -1, axis)
