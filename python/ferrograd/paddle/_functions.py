"""Functions whose order of arguments, defaults or meaning are Paddle's own. Each is a method of its tensors too."""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from typing import Any

from ferrograd import _check
from ferrograd._core import ArgumentError, Tensor
from ferrograd._core import paddle as ops
from ferrograd._reduce import lower_median

__all__ = [
    "argmax",
    "argmin",
    "concat",
    "cummax",
    "cummin",
    "equal_all",
    "gather",
    "index_add",
    "index_fill",
    "index_select",
    "matmul",
    "median",
    "meshgrid",
    "nonzero",
    "norm",
    "put_along_axis",
    "reshape",
    "scatter",
    "split",
    "squeeze",
    "stack",
    "std",
    "sum",
    "take_along_axis",
    "topk",
    "transpose",
    "unbind",
    "unstack",
    "var",
]


def argmax(x: Tensor, axis: int | None = None, keepdim: bool = False, dtype: Any = "int64", name: Any = None) -> Tensor:
    """The index of the largest element along an axis, of all elements without one."""
    return ops.cast(ops.argmax(x, axis, keepdim), dtype)


def argmin(x: Tensor, axis: int | None = None, keepdim: bool = False, dtype: Any = "int64", name: Any = None) -> Tensor:
    """The index of the smallest element along an axis, of all elements without one."""
    return ops.cast(ops.argmin(x, axis, keepdim), dtype)


def concat(x: Sequence[Tensor], axis: Any = 0, name: str | None = None) -> Tensor:
    """Tensors joined along an axis."""
    return ops.concat(x, _check.whole(axis, "concat", "axis"))


def cummax(x: Tensor, axis: int | None = None, dtype: Any = "int64", name: Any = None) -> tuple[Tensor, Tensor]:
    """The running maximum along an axis (of the flattened tensor without one), and where it stands."""
    values, indices = ops.cummax(x, axis)
    return values, ops.cast(indices, dtype)


def cummin(x: Tensor, axis: int | None = None, dtype: Any = "int64", name: Any = None) -> tuple[Tensor, Tensor]:
    """The running minimum along an axis (of the flattened tensor without one), and where it stands."""
    values, indices = ops.cummin(x, axis)
    return values, ops.cast(indices, dtype)


def equal_all(x: Tensor, y: Tensor, name: str | None = None) -> Tensor:
    """Whether two tensors have the same shape and elements, as a 0-d tensor."""
    x, y = _check.tensor(x, "equal_all", "x"), _check.tensor(y, "equal_all", "y")
    if tuple(x.shape) != tuple(y.shape):
        return ops.zeros([], "bool")
    return ops.all(ops.equal(x, y))


def gather(x: Tensor, index: Tensor, axis: Any = None, name: str | None = None) -> Tensor:
    """The slices of ``x`` along an axis (the first without one) at the positions in ``index``."""
    return ops.index_select(x, 0 if axis is None else _check.whole(axis, "gather", "axis"), index)


def index_add(x: Tensor, index: Tensor, axis: int, value: Tensor, name: str | None = None) -> Tensor:
    """``x`` with slices of ``value`` added along an axis at the positions in ``index``."""
    return ops.index_add(x, axis, index, value)


def index_fill(x: Tensor, index: Tensor, axis: int, value: Any, name: str | None = None) -> Tensor:
    """``x`` with a number along an axis at the positions in ``index``."""
    return ops.index_fill(x, axis, index, value)


def index_select(x: Tensor, index: Tensor, axis: int = 0, name: str | None = None) -> Tensor:
    """The slices of ``x`` along an axis at the positions in ``index``."""
    return ops.index_select(x, axis, index)


def matmul(
    x: Tensor, y: Tensor, transpose_x: bool = False, transpose_y: bool = False, name: str | None = None
) -> Tensor:
    """The matrix product, of the matrices transposed where that is asked for."""
    if transpose_x and x.ndim > 1:
        x = ops.matrix_transpose(x)
    if transpose_y and y.ndim > 1:
        y = ops.matrix_transpose(y)
    return ops.matmul(x, y)


def median(
    x: Tensor, axis: Any = None, keepdim: bool = False, mode: str = "avg", name: str | None = None
) -> Tensor | tuple[Tensor, Tensor]:
    """The middle element: the mean of the two middle ones, or (mode ``"min"``) the smaller of them.

    Along an axis the mode ``"min"`` gives its index too.
    """
    if mode == "avg":
        return ops.median(x, axis, keepdim)
    if mode != "min":
        raise ArgumentError(f"median: mode must be 'avg' or 'min', not {mode!r}")
    if axis is not None:
        values, indices = ops.median_with_index(x, axis, keepdim)
        return values, indices
    middle = lower_median(x)
    return ops.reshape(middle, [1] * x.ndim) if keepdim else middle


def meshgrid(*args: Any, name: str | None = None) -> list[Tensor]:
    """Coordinate tensors of a grid; the first tensor runs along the first axis."""
    return list(ops.meshgrid(list(args[0]) if len(args) == 1 and not isinstance(args[0], Tensor) else list(args), "ij"))


def nonzero(x: Tensor, as_tuple: bool = False) -> Any:
    """The indices of the elements that are not zero: one row each, or a tensor for each axis."""
    return tuple(ops.nonzero(x)) if as_tuple else ops.argwhere(x)


def norm(x: Tensor, p: Any = None, axis: Any = None, keepdim: bool = False, name: str | None = None) -> Tensor:
    """The norm of the elements along axes, of all of them without one; Euclid's unless ``p`` says another."""
    return ops.norm(x, 2.0 if p is None or p == "fro" else p, axis, keepdim)


def put_along_axis(
    arr: Tensor, indices: Tensor, values: Any, axis: int, reduce: str = "assign", include_self: bool = True
) -> Tensor:
    """``arr`` with values put at positions along an axis, or combined with what is there."""
    return ops.put_along_axis(arr, indices, values, axis, reduce)


def reshape(x: Tensor, shape: Any, name: str | None = None) -> Tensor:
    """The elements in C order under another shape, where -1 is what is left and 0 the size that the axis has."""
    sizes = [int(d) for d in shape] if not isinstance(shape, int) else [shape]
    if 0 in sizes and 0 not in x.shape:
        sizes = [x.shape[i] if d == 0 and i < x.ndim else d for i, d in enumerate(sizes)]
    return ops.reshape(x, sizes)


def scatter(x: Tensor, index: Tensor, updates: Tensor, overwrite: bool = True, name: str | None = None) -> Tensor:
    """``x`` with its rows at ``index`` replaced by ``updates``, or (without ``overwrite``) by the sums of them."""
    if overwrite:
        return ops.index_put(x, [index], updates)
    return ops.index_add(ops.index_fill(x, 0, index, 0), 0, index, updates)


def split(x: Tensor, num_or_sections: Any, axis: Any = 0, name: str | None = None) -> list[Tensor]:
    """Parts along an axis: so many equal ones, or of these sizes, one of which may be -1 (what is left)."""
    axis = _check.whole(axis, "split", "axis")
    if isinstance(num_or_sections, int):
        return list(ops.split(x, num_or_sections, axis))
    sizes = _check.wholes(num_or_sections, "split", "num_or_sections")
    if sizes.count(-1) == 1:
        sizes[sizes.index(-1)] = x.shape[axis] - builtins.sum(sizes) - 1
    return list(ops.split_sizes(x, sizes, axis))


def squeeze(x: Tensor, axis: Any = None, name: str | None = None) -> Tensor:
    """Without the axes of size 1, or those of these axes that have size 1."""
    return ops.squeeze(x) if axis is None else ops.squeeze(x, _check.ones(x, "squeeze", axis))


def stack(x: Sequence[Tensor], axis: int = 0, name: str | None = None) -> Tensor:
    """Tensors of one shape joined along a new axis."""
    return ops.stack(x, axis)


def std(x: Tensor, axis: Any = None, unbiased: bool = True, keepdim: bool = False, name: str | None = None) -> Tensor:
    """The standard deviation along axes."""
    return ops.std(x, axis, float(unbiased), keepdim)


def sum(x: Tensor, axis: Any = None, dtype: Any = None, keepdim: bool = False, name: str | None = None) -> Tensor:
    """The sum along axes."""
    return ops.sum(x, axis, keepdim, dtype)


def take_along_axis(arr: Tensor, indices: Tensor, axis: int, broadcast: bool = True) -> Tensor:
    """The elements at positions along an axis."""
    return ops.take_along_axis(arr, indices, axis)


def topk(
    x: Tensor, k: Any, axis: int | None = None, largest: bool = True, sorted: bool = True, name: str | None = None
) -> tuple[Tensor, Tensor]:
    """The ``k`` largest (or smallest) elements along an axis, and where they stand."""
    values, indices = ops.topk(x, _check.whole(k, "topk", "k"), -1 if axis is None else axis, largest, sorted)
    return values, indices


def transpose(x: Tensor, perm: Sequence[int], name: str | None = None) -> Tensor:
    """The axes in another order."""
    return ops.permute_dims(x, perm)


def unbind(input: Tensor, axis: int = 0) -> list[Tensor]:
    """The slices along an axis."""
    return list(ops.unbind(input, axis))


def unstack(x: Tensor, axis: int = 0, num: int | None = None) -> list[Tensor]:
    """The slices along an axis, whose number may be given to be checked."""
    if num is not None and x.shape[axis] != num:
        raise ArgumentError(f"unstack: axis {axis} of {list(x.shape)} has {x.shape[axis]} slices, not {num}")
    return list(ops.unbind(x, axis))


def var(x: Tensor, axis: Any = None, unbiased: bool = True, keepdim: bool = False, name: str | None = None) -> Tensor:
    """The variance along axes."""
    return ops.var(x, axis, float(unbiased), keepdim)
