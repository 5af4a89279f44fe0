"""Paddle's functions that read and write by index and whose parameters differ from the core's."""

from __future__ import annotations

import builtins
from typing import Any

from ferrograd import _arguments, _core
from ferrograd._core import ArgumentError, IndexOutOfRange, ShapeError
from ferrograd._core import paddle as ops
from ferrograd.paddle._tensor import Tensor

__all__ = [
    "gather",
    "gather_nd",
    "index_add",
    "index_fill",
    "index_sample",
    "index_select",
    "nonzero",
    "put_along_axis",
    "scatter",
    "scatter_nd",
    "scatter_nd_add",
    "slice",
    "strided_slice",
    "take_along_axis",
]


def gather(x: Tensor, index: Tensor, axis: Any = None, name: str | None = None) -> Tensor:
    """The slices of ``x`` along an axis (by default 0) at the positions in ``index``, a vector or column.

    A 0-d index takes one slice and drops the axis.
    """
    return ops.take(x, _vector(index, "gather"), 0 if axis is None else _arguments.integer(axis, "gather", "axis"))


def _vector(index: Any, function: str) -> Tensor:
    """An index as a 0-d tensor or vector; a column [n, 1] becomes a vector."""
    at: Tensor = _arguments.tensor(index, function, "index")
    if at.ndim == 2 and at.shape[1] == 1:
        at = ops.reshape(at, [-1])
    if at.ndim > 1:
        raise ShapeError(f"{function}: the index is a vector or a column, not of the shape {list(at.shape)}")
    return at


def gather_nd(x: Tensor, index: Tensor, name: str | None = None) -> Tensor:
    """The elements or slices of ``x`` at the positions along the last axis of ``index``."""
    return x[_places(x, index, "gather_nd")]


def _places(x: Tensor, index: Tensor, function: str) -> tuple[Any, ...]:
    """The positions along the last axis of an index as an index expression."""
    index = _arguments.tensor(index, function, "index")
    count = index.shape[-1] if index.ndim else 0
    if count > _arguments.tensor(x, function, "x").ndim:
        raise ShapeError(f"{function}: the index names {count} axes, x has {x.ndim}")
    if count == 0:
        lead = ops.zeros(list(index.shape[:-1]), "int64")
        return (None, lead) if index.ndim else (...,)
    return tuple(ops.unbind(index, -1))


def index_add(x: Tensor, index: Tensor, axis: int, value: Tensor, alpha: float = 1, name: str | None = None) -> Tensor:
    """``x`` with ``alpha * value`` added to its slices ``index`` along an axis."""
    return ops.index_add(x, axis, index, value if alpha == 1 else ops.multiply(value, alpha))


def index_fill(x: Tensor, index: Tensor, axis: int, value: Any, name: str | None = None) -> Tensor:
    """``x`` with its slices ``index`` along an axis filled with ``value``."""
    return ops.index_fill(x, axis, index, value)


def index_sample(x: Tensor, index: Tensor) -> Tensor:
    """The elements of each row of ``x`` at the positions in the same row of ``index``."""
    return _core.from_zero(ops.take_along_axis, x, index, 1)


def index_select(x: Tensor, index: Tensor, axis: int = 0, name: str | None = None) -> Tensor:
    """The slices of ``x`` along an axis at the positions in ``index``, a vector or column."""
    return ops.index_select(x, axis, _vector(index, "index_select"))


def nonzero(x: Tensor, as_tuple: bool = False) -> Any:
    """The indices of the nonzero elements: a matrix with one row each, or a tuple with one vector per axis."""
    return tuple(ops.nonzero(x)) if as_tuple else ops.argwhere(x)


def put_along_axis(
    arr: Tensor,
    indices: Tensor,
    values: Any,
    axis: int,
    reduce: str = "assign",
    include_self: bool = True,
    broadcast: bool = True,
) -> Tensor:
    """``arr`` with values written to positions along an axis, or combined there by ``reduce``.

    With ``include_self`` the elements of ``arr`` take part. Indices broadcast to ``arr`` unless ``broadcast`` is False.
    """
    if broadcast:
        result: Tensor = ops.put_along_axis(arr, indices, values, axis, reduce, include_self)
    elif reduce == "assign":
        result = ops.scatter(arr, axis, indices, values)
    else:
        result = ops.scatter_reduce(arr, axis, indices, values, reduce, include_self)
    return result


def scatter(x: Tensor, index: Tensor, updates: Tensor, overwrite: bool = True, name: str | None = None) -> Tensor:
    """``x`` with its rows ``index`` replaced by ``updates``, or without ``overwrite`` by the sum of their updates.

    The index is a vector or column.
    """
    index = _vector(index, "scatter")
    if overwrite:
        return ops.index_put(x, [index], updates)
    return ops.index_add(ops.index_fill(x, 0, index, 0), 0, index, updates)


def scatter_nd(index: Tensor, updates: Tensor, shape: Any, name: str | None = None) -> Tensor:
    """Zeros of a shape with ``updates`` added at the positions along the last axis of ``index``."""
    return scatter_nd_add(ops.zeros(shape, _arguments.tensor(updates, "scatter_nd", "updates").dtype), index, updates)


def scatter_nd_add(x: Tensor, index: Tensor, updates: Tensor, name: str | None = None) -> Tensor:
    """``x`` with ``updates`` added at the positions along the last axis of ``index``."""
    return ops.index_put(x, _places(x, index, "scatter_nd_add"), updates, True)


def slice(input: Tensor, axes: Any, starts: Any, ends: Any) -> Tensor:
    """``input`` sliced from ``starts`` to ``ends`` along ``axes``."""
    return strided_slice(input, axes, starts, ends, [1] * len(axes))


def strided_slice(x: Tensor, axes: Any, starts: Any, ends: Any, strides: Any, name: str | None = None) -> Tensor:
    """``x`` sliced from ``starts`` to ``ends`` with ``strides`` along ``axes``."""
    return x[slices(x, axes, starts, ends, strides, "strided_slice")]


def slices(x: Tensor, axes: Any, starts: Any, ends: Any, strides: Any, function: str) -> tuple[Any, ...]:
    """The index of a part of ``x``, from ``starts`` to ``ends`` with ``strides`` along ``axes``."""
    x = _arguments.tensor(x, function, "x")
    index = [builtins.slice(None)] * x.ndim
    given = [
        _arguments.integers(v, function, n)
        for v, n in ((axes, "axes"), (starts, "starts"), (ends, "ends"), (strides, "strides"))
    ]
    if len({len(v) for v in given}) != 1:
        raise ArgumentError(f"{function}: axes, starts, ends and strides must have the same length")
    for axis, start, end, step in zip(*given, strict=True):
        if not -x.ndim <= axis < x.ndim:
            raise IndexOutOfRange(f"{function}: axis {axis} of {x.ndim}")
        size = x.shape[axis]
        # With a negative step, an end before the first element means that there is no end.
        stop = None if step < 0 and end < -size else end
        index[axis] = builtins.slice(start, stop, step)
    return tuple(index)


def take_along_axis(arr: Tensor, indices: Tensor, axis: int, broadcast: bool = True) -> Tensor:
    """The elements at positions along an axis."""
    return ops.take_along_axis(arr, indices, axis)
