"""Paddle's functions whose parameters, defaults or meaning differ from the core's. Each is a tensor method too."""

from __future__ import annotations

import builtins
import math
import operator
from collections.abc import Sequence
from typing import Any

from ferrograd import _arguments, _core
from ferrograd._core import ArgumentError, DtypeError, ShapeError
from ferrograd._core import paddle as ops
from ferrograd._dialects.casts import in_inexact
from ferrograd._dialects.reductions import lower_median
from ferrograd.paddle._index import nonzero
from ferrograd.paddle._tensor import Tensor

__all__ = [
    "add_n",
    "allclose",
    "argmax",
    "argmin",
    "atan2",
    "broadcast_tensors",
    "concat",
    "cross",
    "cummax",
    "cummin",
    "diag",
    "equal_all",
    "frac",
    "increment",
    "logit",
    "matmul",
    "median",
    "meshgrid",
    "multiplex",
    "norm",
    "reshape",
    "scale",
    "softmax",
    "split",
    "squeeze",
    "stack",
    "stanh",
    "std",
    "sum",
    "t",
    "tensordot",
    "topk",
    "transpose",
    "unbind",
    "unsqueeze",
    "unstack",
    "var",
    "where",
    "where_",
]


def add_n(inputs: Any, name: str | None = None) -> Tensor:
    """The elementwise sum of tensors of one shape; a copy of a single tensor."""
    if isinstance(inputs, Tensor):
        return ops.clone(inputs)
    total, *others = _tensors(inputs, "add_n", "inputs")
    for x in others:
        if tuple(x.shape) != tuple(total.shape):
            raise ShapeError(f"add_n: inputs of one shape, not {list(total.shape)} and {list(x.shape)}")
        total = ops.add(total, x)
    return total if others else ops.clone(total)


def _tensors(values: Any, function: str, name: str) -> list[Tensor]:
    """The values as a list; raises unless they are a nonempty list or tuple of tensors."""
    if not isinstance(values, list | tuple) or not values:
        raise ArgumentError(f"{function}: {name} must be a list of Tensors")
    return [_arguments.tensor(value, function, name) for value in values]


def allclose(
    x: Tensor, y: Tensor, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False, name: str | None = None
) -> Tensor:
    """Whether all elements are close to each other, as a 0-d tensor."""
    return ops.all(ops.isclose(x, y, rtol, atol, equal_nan))


def argmax(
    x: Tensor, axis: int | None = None, keepdim: bool | None = False, dtype: Any = "int64", name: Any = None
) -> Tensor:
    """The index of the largest element along an axis, or in the flat tensor."""
    return ops.cast(ops.argmax(x, axis, keepdim or False), dtype)


def argmin(
    x: Tensor, axis: int | None = None, keepdim: bool | None = False, dtype: Any = "int64", name: Any = None
) -> Tensor:
    """The index of the smallest element along an axis, or in the flat tensor."""
    return ops.cast(ops.argmin(x, axis, keepdim or False), dtype)


def atan2(x: Tensor, y: Tensor, name: str | None = None) -> Tensor:
    """The angle whose sine and cosine have the signs of x and y, and their ratio. It is float64 for integers."""
    both = (_arguments.tensor(x, "atan2", "x"), _arguments.tensor(y, "atan2", "y"))
    return ops.atan2(ops.cast(x, "float64"), y) if all(one.dtype.kind in "iu" for one in both) else ops.atan2(x, y)


def broadcast_tensors(input: Sequence[Tensor], name: str | None = None) -> list[Tensor]:
    """The tensors broadcast to their common shape."""
    return list(ops.broadcast_tensors(_tensors(input, "broadcast_tensors", "input")))


def concat(x: Sequence[Tensor], axis: Any = 0, name: str | None = None) -> Tensor:
    """Tensors joined along an axis."""
    return ops.concat(x, _arguments.integer(axis, "concat", "axis"))


def cross(x: Tensor, y: Tensor, axis: int = 9, name: str | None = None) -> Tensor:
    """The cross product along an axis of size 3, by default (9) the first such axis."""
    x = _arguments.tensor(x, "cross", "x")
    if axis != 9:
        return ops.cross(x, y, axis)
    if 3 not in x.shape:
        raise ShapeError(f"cross: no axis of {list(x.shape)} has size 3")
    return ops.cross(x, y, list(x.shape).index(3))


def cummax(x: Tensor, axis: int | None = None, dtype: Any = "int64", name: Any = None) -> tuple[Tensor, Tensor]:
    """The cumulative maximum along an axis (of the flat tensor without one) and its indices."""
    values, indices = ops.cummax(x, axis)
    return values, ops.cast(indices, dtype)


def cummin(x: Tensor, axis: int | None = None, dtype: Any = "int64", name: Any = None) -> tuple[Tensor, Tensor]:
    """The cumulative minimum along an axis (of the flat tensor without one) and its indices."""
    values, indices = ops.cummin(x, axis)
    return values, ops.cast(indices, dtype)


def diag(x: Tensor, offset: int = 0, padding_value: Any = 0, name: str | None = None) -> Tensor:
    """The diagonal of a matrix, or a matrix with the vector ``x`` on the diagonal and ``padding_value`` elsewhere."""
    y = ops.diag(x, offset)
    if x.ndim != 1 or padding_value == 0:
        return y
    return ops.where(ops.diag(ops.ones_like(x, "bool"), offset), y, padding_value)


def equal_all(x: Tensor, y: Tensor, name: str | None = None) -> Tensor:
    """Whether two tensors have the same shape and elements, as a 0-d tensor."""
    x, y = _arguments.tensor(x, "equal_all", "x"), _arguments.tensor(y, "equal_all", "y")
    if tuple(x.shape) != tuple(y.shape):
        return ops.zeros([], "bool")
    return ops.all(ops.equal(x, y))


def frac(x: Tensor, name: str | None = None) -> Tensor:
    """The elements without their whole part, with their sign: zeros for integers."""
    return ops.zeros_like(x) if _arguments.tensor(x, "frac", "x").dtype.kind in "iu" else ops.frac(x)


def increment(x: Tensor, value: float = 1.0, name: str | None = None) -> Tensor:
    """Adds ``value`` in place to ``x``, which has one element; returns ``x``. To an integer its whole part is added."""
    if math.prod(_arguments.tensor(x, "increment", "x").shape) != 1:
        raise ShapeError(f"increment: x has one element, not shape {list(x.shape)}")
    return x.add_(int(value) if x.dtype.kind in "iu" else value)


def logit(x: Tensor, eps: float | None = None, name: str | None = None) -> Tensor:
    """``log(x / (1 - x))``, with ``x`` clipped to [``eps``, ``1 - eps``] if ``eps`` is given."""
    return ops.logit(x if eps is None else ops.clip(x, eps, 1.0 - eps))


def matmul(
    x: Tensor, y: Tensor, transpose_x: bool = False, transpose_y: bool = False, name: str | None = None
) -> Tensor:
    """The matrix product, with each matrix transposed first if asked for."""
    if transpose_x and x.ndim > 1:
        x = ops.matrix_transpose(x)
    if transpose_y and y.ndim > 1:
        y = ops.matrix_transpose(y)
    return ops.matmul(x, y)


def median(
    x: Tensor, axis: Any = None, keepdim: bool = False, mode: str = "avg", name: str | None = None
) -> Tensor | tuple[Tensor, Tensor]:
    """The median: the mean of the two middle elements, or with ``mode="min"`` the smaller of them.

    With an axis and ``mode="min"`` also its index.
    """
    if mode == "avg":
        found = ops.median(x, axis, keepdim)
        return ops.cast(found, "float32") if found.dtype.itemsize == 2 else found
    if mode != "min":
        raise ArgumentError(f"median: mode must be 'avg' or 'min', not {mode!r}")
    if axis is not None:
        values, indices = ops.median_with_index(x, axis, keepdim)
        return values, indices
    middle = lower_median(x)
    return ops.reshape(middle, [1] * x.ndim) if keepdim else middle


def meshgrid(*args: Any, name: str | None = None) -> list[Tensor]:
    """Coordinate tensors of a grid. The first vector runs along axis 0."""
    return list(ops.meshgrid(list(args[0]) if len(args) == 1 and not isinstance(args[0], Tensor) else list(args), "ij"))


def multiplex(inputs: Sequence[Tensor], index: Tensor, name: str | None = None) -> Tensor:
    """A tensor whose row i is row i of ``inputs[index[i]]``."""
    stacked = ops.stack(_tensors(inputs, "multiplex", "inputs"), 0)
    which = ops.reshape(_arguments.tensor(index, "multiplex", "index"), [-1])
    return _core.from_zero(operator.getitem, stacked, (which, ops.arange(0, which.shape[0], 1, "int64")))


def norm(
    x: Tensor, p: Any = None, axis: Any = None, keepdim: bool = False, name: str | None = None, *, dtype: Any = None
) -> Tensor:
    """The ``p``-norm of the elements along an axis, or of all elements; by default the Euclidean norm.

    Along two axes it is a matrix norm: ``p`` is 2 (the default), -2, 1, -1, inf, -inf, ``"fro"`` or ``"nuc"``.
    """
    x = in_inexact(x, dtype, "norm")
    if p == "nuc" or (isinstance(axis, list | tuple) and len(axis) == 2):
        return ops.linalg.norm(x, 2.0 if p is None else p, axis, keepdim)
    return ops.norm(x, 2.0 if p is None or p == "fro" else p, _arguments.axes_or_all(axis), keepdim)


def reshape(x: Tensor, shape: Any, name: str | None = None) -> Tensor:
    """The elements in C order with another shape. -1 is the remaining size, 0 the size of the axis in ``x``."""
    sizes = [int(d) for d in shape] if not isinstance(shape, int) else [shape]
    if 0 in sizes and 0 not in _arguments.tensor(x, "reshape", "x").shape:
        sizes = [x.shape[i] if d == 0 and i < x.ndim else d for i, d in enumerate(sizes)]
    return ops.reshape(x, sizes)


def scale(
    x: Tensor,
    scale: Any = 1.0,
    bias: float = 0.0,
    bias_after_scale: bool = True,
    act: str | None = None,
    name: str | None = None,
) -> Tensor:
    """``scale * x + bias``, or without ``bias_after_scale`` ``scale * (x + bias)``; then the activation ``act``."""
    if _arguments.tensor(x, "scale", "x").dtype.kind in "iu":
        scale, bias = (int(v) if isinstance(v, float) and v.is_integer() else v for v in (scale, bias))
    moved = x if bias_after_scale else ops.add(x, bias)
    y = ops.multiply(moved, scale)
    y = ops.add(y, bias) if bias_after_scale else y
    if act is None:
        return y
    if act not in ("relu", "sigmoid", "softmax", "tanh"):
        raise ArgumentError(f"scale: act is 'relu', 'sigmoid', 'softmax' or 'tanh', not {act!r}")
    activated: Tensor = getattr(ops, act)(y)
    return activated


def softmax(input: Tensor, dim: int | None = None, dtype: Any = None) -> Tensor:
    """``exp(x) / sum(exp(x))`` along an axis: by default 0 if there are 0, 1 or 3 axes, else 1."""
    input = _arguments.tensor(input, "softmax", "input")
    axis = (0 if input.ndim in (0, 1, 3) else 1) if dim is None else dim
    return ops.softmax(in_inexact(input, dtype, "softmax"), axis)


def split(x: Tensor, num_or_sections: Any, axis: Any = 0, name: str | None = None) -> list[Tensor]:
    """Parts along an axis: a number of equal ones, or a list of sizes, and one of them may be -1 for the rest."""
    axis = _arguments.integer(axis, "split", "axis")
    if isinstance(num_or_sections, int):
        return list(ops.split(x, num_or_sections, axis))
    sizes = _arguments.integers(num_or_sections, "split", "num_or_sections")
    if sizes.count(-1) == 1:
        sizes[sizes.index(-1)] = x.shape[axis] - builtins.sum(sizes) - 1
    return list(ops.split_sizes(x, sizes, axis))


def squeeze(x: Tensor, axis: Any = None, name: str | None = None) -> Tensor:
    """The tensor without its axes of size 1, or without those among ``axis``."""
    return ops.squeeze(x) if axis is None else ops.squeeze(x, _arguments.axes_of_size_one(x, "squeeze", axis))


def stack(x: Sequence[Tensor], axis: int = 0, name: str | None = None) -> Tensor:
    """Tensors of one shape joined along a new axis."""
    return ops.stack(x, axis)


def stanh(x: Tensor, scale_a: float = 0.67, scale_b: float = 1.7159, name: str | None = None) -> Tensor:
    """``scale_b * tanh(scale_a * x)``."""
    return ops.multiply(ops.tanh(ops.multiply(x, scale_a)), scale_b)


def std(x: Tensor, axis: Any = None, unbiased: bool = True, keepdim: bool = False, name: str | None = None) -> Tensor:
    """The standard deviation along axes."""
    return ops.std(x, _arguments.axes_or_all(axis), float(unbiased), keepdim)


def sum(x: Tensor, axis: Any = None, dtype: Any = None, keepdim: bool = False, name: str | None = None) -> Tensor:
    """The sum along axes."""
    return ops.sum(x, _arguments.axes_or_all(axis), keepdim, dtype)


def t(input: Tensor, name: str | None = None) -> Tensor:
    """The transpose of a matrix. A tensor with fewer axes is returned as it is."""
    if _arguments.tensor(input, "t", "input").ndim > 2:
        raise ShapeError(f"t: at most two axes, not {list(input.shape)}; transpose takes any")
    return ops.matrix_transpose(input) if input.ndim == 2 else input


def tensordot(x: Tensor, y: Tensor, axes: Any = 2, name: str | None = None) -> Tensor:
    """The sum of products over pairs of axes.

    ``axes`` is a number (the last axes of ``x`` and the first of ``y``), a list of axes in both, or a pair of lists.
    The shorter list of a pair is continued with the axes of the longer one.
    """
    x, y = _arguments.tensor(x, "tensordot", "x"), _arguments.tensor(y, "tensordot", "y")
    if isinstance(axes, Tensor):
        axes = axes.tolist()
    if isinstance(axes, int):
        return ops.tensordot(x, y, axes)
    if not isinstance(axes, list | tuple):
        raise ArgumentError(f"tensordot: axes must be an int or lists of ints, not {type(axes).__name__}")
    pair = [axes] if all(isinstance(a, int) for a in axes) else axes
    if len(pair) > 2:
        raise ArgumentError(f"tensordot: axes are two lists, not {len(pair)}")
    lists = [_arguments.integers(a, "tensordot", "axes") if isinstance(a, list | tuple | Tensor) else [a] for a in pair]
    ours, theirs = (lists[0], lists[-1]) if lists else ([], [])
    if len(ours) < len(theirs):
        ours = ours + theirs[len(ours) :]
    theirs = theirs + ours[len(theirs) :]
    for i, (a, b) in enumerate(zip(ours, theirs, strict=True)):
        # An axis of size 1 broadcasts against the other one.
        if -x.ndim <= a < x.ndim and -y.ndim <= b < y.ndim and x.shape[a] != y.shape[b]:
            if x.shape[a] == 1:
                y = ops.sum(y, b, True)
            elif y.shape[b] == 1:
                x = ops.sum(x, a, True)
            else:
                raise ShapeError(f"tensordot: pair {i} of axes has sizes {x.shape[a]} and {y.shape[b]}")
    return ops.tensordot(x, y, [ours, theirs])


def topk(
    x: Tensor, k: Any, axis: int | None = None, largest: bool = True, sorted: bool = True, name: str | None = None
) -> tuple[Tensor, Tensor]:
    """The ``k`` largest (or smallest) elements along an axis and their indices."""
    values, indices = ops.topk(x, _arguments.integer(k, "topk", "k"), -1 if axis is None else axis, largest, sorted)
    return values, indices


def transpose(x: Tensor, perm: Sequence[int], name: str | None = None) -> Tensor:
    """The tensor with its axes in the order ``perm``."""
    return ops.permute_dims(x, perm)


def unbind(input: Tensor, axis: int = 0) -> list[Tensor]:
    """The slices along an axis."""
    return list(ops.unbind(input, axis))


def unsqueeze(x: Tensor, axis: Any, name: str | None = None) -> Tensor:
    """A view with new axes of size 1. Several are inserted one after another, each counted in the result so far."""
    x = _arguments.tensor(x, "unsqueeze", "x")
    if isinstance(axis, Tensor):
        axis = ops.reshape(axis, [-1]).tolist()
    for one in axis if isinstance(axis, list | tuple) else [axis]:
        x = ops.unsqueeze(x, one)
    return x


def unstack(x: Tensor, axis: int = 0, num: int | None = None) -> list[Tensor]:
    """The slices along an axis; raises unless there are ``num``, if that is given."""
    if num is not None and _arguments.tensor(x, "unstack", "x").shape[axis] != num:
        raise ArgumentError(f"unstack: axis {axis} of {list(x.shape)} has {x.shape[axis]} slices, not {num}")
    return list(ops.unbind(x, axis))


def var(
    x: Tensor,
    axis: Any = None,
    unbiased: bool | None = None,
    keepdim: bool = False,
    name: str | None = None,
    *,
    correction: float = 1,
) -> Tensor:
    """The variance along axes. The divisor is the number of elements less ``correction``, or less ``unbiased``."""
    return ops.var(x, _arguments.axes_or_all(axis), float(correction if unbiased is None else unbiased), keepdim)


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
    _core.overwrite(_arguments.tensor(x, "where_", "x"), "where", False, _chosen, (condition, y), {})
    return x


def _chosen(x: Tensor, condition: Tensor, y: Tensor) -> Any:
    return where(condition, x, y)
