"""Paddle's functions that read and write by index and whose parameters differ from the core's."""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from typing import Any

from ferrograd import _core
from ferrograd._core import ArgumentError, DtypeError, IndexOutOfRange, PaddleTensor, ShapeError, paddle as ops
from ferrograd._kit import arguments as _arguments
from ferrograd.paddle._base.in_place import taking_the_dtype
from ferrograd.paddle._tensor import Tensor

__all__ = [
    "diagonal_scatter",
    "gather",
    "gather_nd",
    "index_add",
    "index_fill",
    "index_put",
    "index_sample",
    "index_select",
    "masked_fill",
    "masked_scatter",
    "nonzero",
    "put_along_axis",
    "scatter",
    "scatter_nd",
    "scatter_nd_add",
    "select_scatter",
    "shard_index",
    "slice",
    "slice_scatter",
    "strided_slice",
    "take",
    "take_along_axis",
    "take_along_dim",
    "where",
    "where_",
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
    """``x`` with its slices ``index`` along an axis filled with ``value``, a number or a tensor of one element."""
    if isinstance(value, Tensor) and value.size != 1:
        raise ShapeError(
            f"index_fill: value is a number or a tensor of one element, not of the shape {list(value.shape)}"
        )
    return ops.index_fill(x, axis, index, value)


def index_put(
    x: Tensor, indices: Sequence[Tensor], value: Tensor, accumulate: bool = False, name: str | None = None
) -> Tensor:
    """``x`` with ``value`` written, or added with ``accumulate``, where ``x[indices]`` is.

    ``indices`` is a tuple or list of integer tensors, or of one boolean tensor.

    >>> import ferrograd.paddle as paddle
    >>> index_put(paddle.zeros([3]), [paddle.to_tensor([0, 2])], paddle.ones([2])).tolist()
    [1.0, 0.0, 1.0]
    """
    return ops.index_put(x, tuple(indices) if isinstance(indices, list) else indices, value, accumulate)


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

    The index is a vector or column, and ``updates`` has the axes of ``x``. Or it has no axes, and ``updates`` is a row.
    """
    x, updates = (_arguments.tensor(t, "scatter", name) for t, name in ((x, "x"), (updates, "updates")))
    is_one = _arguments.tensor(index, "scatter", "index").ndim == 0
    index = _vector(index, "scatter")
    if updates.ndim != x.ndim - is_one:
        at = " at an index without axes" if is_one else ""
        raise ShapeError(f"scatter: updates of {updates.ndim} axes for a tensor of {x.ndim}{at}")
    updates = ops.unsqueeze(updates, 0) if is_one else updates
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
    """The elements at positions along an axis. With ``broadcast`` the other axes broadcast. Without, the result has the
    shape of the indices, which are no larger than the array on the other axes.
    """
    return ops.take_along_axis(arr, indices, axis) if broadcast else ops.gather(arr, axis, indices)


def where(condition: Tensor, x: Any = None, y: Any = None, name: str | None = None) -> Any:
    """``x`` where the condition is true, else ``y``. Without ``x`` and ``y``, the indices where it is true.

    The indices are a tuple with one vector per axis.
    """
    if x is None and y is None:
        return nonzero(condition, as_tuple=True)
    if x is None or y is None:
        raise ArgumentError("where: either both or neither of x and y must be given")
    condition = _arguments.tensor(condition, "where", "condition")
    if condition.dtype.kind != "b":
        raise DtypeError(f"where: the condition is expected to be a boolean tensor, but its dtype is {condition.dtype}")
    return ops.where(condition, x, y)


def where_(condition: Tensor, x: Tensor, y: Tensor, name: str | None = None) -> Tensor:
    """Writes the elements of ``y`` to ``x`` where the condition is false; returns ``x``."""
    return _where_in_place(_arguments.tensor(x, "where_", "x"), condition, y)


def _chosen(x: Tensor, condition: Tensor, y: Tensor) -> Any:
    return where(condition, x, y)


_where_in_place = taking_the_dtype(PaddleTensor, "where", _chosen)


def slice_scatter(
    x: Tensor, value: Tensor, axes: Any, starts: Any, ends: Any, strides: Any, name: str | None = None
) -> Tensor:
    """``x`` with ``value`` written to the part that ``strided_slice`` takes."""
    index = slices(x, axes, starts, ends, strides, "slice_scatter")
    written = ops.clone(x)
    written[index] = ops.cast(value, x.dtype)
    return written


def select_scatter(x: Tensor, values: Tensor, axis: int, index: int, name: str | None = None) -> Tensor:
    """``x`` with ``values`` written to the slice at an index of an axis."""
    return ops.select_scatter(x, values, axis, index)


def masked_fill(x: Tensor, mask: Tensor, value: Any, name: str | None = None) -> Tensor:
    """``x`` with ``value`` where a mask holds. The three broadcast against each other."""
    if isinstance(value, Tensor) and value.ndim:
        return ops.where(mask, ops.cast(value, _arguments.tensor(x, "masked_fill", "x").dtype), x)
    return ops.masked_fill(x, mask, value)


def masked_scatter(x: Tensor, mask: Tensor, value: Tensor, name: str | None = None) -> Tensor:
    """``x`` with the first elements of ``value``, which has its dtype, where the mask is true."""
    x, value = (_arguments.tensor(t, "masked_scatter", name) for t, name in ((x, "x"), (value, "value")))
    if x.dtype != value.dtype:
        raise DtypeError(
            f"masked_scatter: x and value must have the same dtype, but got x dtype is {x.dtype}, value dtype is "
            f"{value.dtype}"
        )
    return ops.masked_scatter(x, mask, value)


def take(x: Tensor, index: Tensor, mode: str = "raise", name: str | None = None) -> Tensor:
    """The elements at positions in the flat tensor.

    Positions outside raise, or with the mode "wrap" count around, or with "clip" are those of the nearest element.
    """
    flat = ops.reshape(_arguments.tensor(x, "take", "x"), [-1])
    index, n = _arguments.tensor(index, "take", "index"), flat.shape[0]
    if mode == "wrap":
        index = ops.remainder(index, n)
    elif mode == "clip":
        index = ops.clip(index, 0, n - 1)
    elif mode != "raise":
        raise ArgumentError(f"take: mode must be 'raise', 'wrap' or 'clip', not {mode!r:.40}")
    return ops.take(flat, index, 0)


def take_along_dim(arr: Tensor, indices: Tensor, axis: int | None = None, broadcast: bool = True) -> Tensor:
    """Elements by their indices along an axis, or in the flat tensor. See :func:`take_along_axis`."""
    if axis is None:
        return ops.take_along_axis(arr, ops.reshape(indices, [-1]), None)
    return take_along_axis(arr, indices, axis, broadcast)


def shard_index(input: Tensor, index_num: int, nshards: int, shard_id: int, ignore_value: int = -1) -> Tensor:
    """The indices as those within one of ``nshards`` equal parts of ``index_num``; elsewhere ``ignore_value``."""
    if nshards < 1 or not 0 <= shard_id < nshards:
        raise ArgumentError(f"shard_index: shard_id {shard_id} is not one of {nshards} parts")
    size = -(-index_num // nshards)
    inside = ops.equal(ops.floor_divide(input, size), shard_id)
    return ops.where(inside, ops.remainder(input, size), ops.full_like(input, ignore_value))


def diagonal_scatter(
    x: Tensor, y: Tensor, offset: int = 0, axis1: int = 0, axis2: int = 1, name: str | None = None
) -> Tensor:
    """``x`` with ``y`` written over a diagonal, which has the shape of ``y``."""
    found = ops.diagonal(_arguments.tensor(x, "diagonal_scatter", "x"), offset, axis1, axis2).shape
    if tuple(_arguments.tensor(y, "diagonal_scatter", "y").shape) != tuple(found):
        raise ShapeError(f"diagonal_scatter: y.shape should be {list(found)}, but received {list(y.shape)}")
    return ops.diagonal_scatter(x, y, offset, axis1, axis2)
