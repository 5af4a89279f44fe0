"""torch's reductions whose parameters, defaults or results differ from the core's. Each is a tensor method too."""

from __future__ import annotations

import math
from typing import Any, overload

import numpy as np

from ferrograd import _core
from ferrograd._core import ArgumentError, ShapeError, torch as ops
from ferrograd._functions.casts import in_inexact
from ferrograd._functions.differences import derivatives
from ferrograd._functions.reduce import lower_median, nan_lower_median
from ferrograd._kit import arguments as _arguments
from ferrograd._kit.dialect import TORCH
from ferrograd._kit.out import into
from ferrograd._kit.specialize import specialize
from ferrograd.torch import return_types
from ferrograd.torch._functions.create import _shape
from ferrograd.torch._tensor import Tensor
from ferrograd.torch.return_types import ValuesAndIndices

__all__ = [
    "aminmax",
    "cummax",
    "cummin",
    "gradient",
    "hash_tensor",
    "log_softmax",
    "max",
    "median",
    "min",
    "nanmean",
    "nanmedian",
    "native_norm",
    "norm",
    "softmax",
    "std",
    "std_mean",
    "sum_to_size",
    "var",
    "var_mean",
]


@overload
def max(input: Tensor, dim: Tensor | None = ...) -> Tensor: ...
@overload
def max(input: Tensor, *, other: Tensor) -> Tensor: ...
@overload
def max(input: Tensor, dim: int, keepdim: bool = ...) -> ValuesAndIndices: ...
def max(input: Tensor, dim: Any = None, keepdim: bool = False, *, other: Tensor | None = None) -> Any:
    """The largest element; with an axis also its index; with a second tensor the elementwise maximum."""
    if other is not None:
        return ops.maximum(input, other)
    if dim is None:
        return ops.max(input)
    if isinstance(dim, Tensor):
        return max(input, other=dim)
    return return_types.max(*ops.max_with_index(input, dim, keepdim))


@overload
def min(input: Tensor, dim: Tensor | None = ...) -> Tensor: ...
@overload
def min(input: Tensor, *, other: Tensor) -> Tensor: ...
@overload
def min(input: Tensor, dim: int, keepdim: bool = ...) -> ValuesAndIndices: ...
def min(input: Tensor, dim: Any = None, keepdim: bool = False, *, other: Tensor | None = None) -> Any:
    """The smallest element; with an axis also its index; with a second tensor the elementwise minimum."""
    if other is not None:
        return ops.minimum(input, other)
    if dim is None:
        return ops.min(input)
    if isinstance(dim, Tensor):
        return min(input, other=dim)
    return return_types.min(*ops.min_with_index(input, dim, keepdim))


def _or_nan(input: Tensor, function: str) -> Tensor:
    """The tensor, or NaN for floats that are none."""
    empty = 0 in _arguments.tensor(input, function, "input").shape and input.dtype.kind in "fV"
    return ops.full_like(ops.sum(input), math.nan) if empty else input


@overload
def median(input: Tensor) -> Tensor: ...
@overload
def median(input: Tensor, dim: int, keepdim: bool = ...) -> ValuesAndIndices: ...
def median(input: Tensor, dim: int | None = None, keepdim: bool = False) -> Any:
    """The median, the smaller of two middle elements; with an axis also its index."""
    if dim is None:
        return lower_median(_or_nan(input, "median"))
    return return_types.median(*ops.median_with_index(input, dim, keepdim))


def nanmean(input: Tensor, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Tensor:
    """The mean of the elements that are not NaN; computed in ``dtype``, a float or complex one, if it is given."""
    return ops.nanmean(in_inexact(input, dtype, "nanmean"), dim, keepdim)


@overload
def nanmedian(input: Tensor) -> Tensor: ...
@overload
def nanmedian(input: Tensor, dim: int, keepdim: bool = ...) -> ValuesAndIndices: ...
def nanmedian(input: Tensor, dim: int | None = None, keepdim: bool = False) -> Any:
    """:func:`median` of the elements that are not NaN; NaN where there are none."""
    input = _or_nan(input, "nanmedian") if dim is None else _arguments.tensor(input, "nanmedian", "input")
    if input.ndim == 0 and dim is not None:
        value, index = nanmedian(ops.reshape(input, [1]), 0)
        return return_types.nanmedian(value, index)
    x = ops.reshape(input, [-1]) if dim is None else input
    axis = 0 if dim is None else dim
    value, index, _ = nan_lower_median(ops.moveaxis(x, axis, -1))
    if dim is None:
        return _equal_to(value, input) if input.dtype.kind == "f" else value
    if keepdim:
        value, index = ops.expand_dims(value, axis), ops.expand_dims(index, axis)
    return return_types.nanmedian(value, index)


def _equal_to(value: Tensor, x: Tensor) -> Tensor:
    """The value as a function of all elements of ``x`` equal to it, which share its gradient."""
    value = value.detach()
    equal = ops.logical_or(ops.equal(x, value), ops.not_equal(value, value))
    least, greatest = ops.min(ops.where(equal, x, math.inf)), ops.max(ops.where(equal, x, -math.inf))
    return ops.where(ops.less(value, 0), least, greatest)


def norm(
    input: Tensor, p: Any = "fro", dim: Any = None, keepdim: bool = False, out: Any = None, dtype: Any = None
) -> Tensor:
    """The ``p``-norm of the elements along axes, of all elements without one; by default the Euclidean norm.

    ``p="nuc"`` is the sum of the singular values of matrices.
    """
    input = in_inexact(input, dtype, "norm")
    if p == "nuc":
        result: Tensor = ops.linalg.norm(input, p, dim, keepdim)
    else:
        result = ops.norm(input, 2.0 if p is None or p == "fro" else p, _arguments.axes_or_all(dim), keepdim)
    written: Tensor = into(out, result)
    return written


def native_norm(input: Tensor, p: Any = 2, dim: Any = None, keepdim: bool = False, dtype: Any = None) -> Tensor:
    """:func:`norm` under the name of the function by which PyTorch computes it."""
    return norm(input, p, dim, keepdim, dtype=dtype)


def _correction(unbiased: bool | None, correction: float | None) -> float:
    if unbiased is not None and correction is not None:
        raise ArgumentError("unbiased and correction say the same: give one of them")
    return float(unbiased) if unbiased is not None else 1.0 if correction is None else correction


def _moment(op: Any, input: Tensor, dim: Any, unbiased: bool | None, correction: float | None, keepdim: bool) -> Tensor:
    """``var`` or ``std``. A bool in the place of ``dim`` is ``unbiased``, as in torch."""
    if isinstance(dim, bool):
        dim, unbiased = None, dim
    result: Tensor = op(input, _arguments.axes_or_all(dim), _correction(unbiased, correction), keepdim)
    return result


def std(
    input: Tensor,
    dim: Any = None,
    unbiased: bool | None = None,
    keepdim: bool = False,
    *,
    correction: float | None = None,
) -> Tensor:
    """The standard deviation along axes; of all elements without ``dim``.

    The divisor is the number of elements less ``correction``: 1, or 0 if ``unbiased`` is False.
    """
    return _moment(ops.std, input, dim, unbiased, correction, keepdim)


def var(
    input: Tensor,
    dim: Any = None,
    unbiased: bool | None = None,
    keepdim: bool = False,
    *,
    correction: float | None = None,
) -> Tensor:
    """The variance along axes. See :func:`std` for the arguments."""
    return _moment(ops.var, input, dim, unbiased, correction, keepdim)


def _with_mean(
    input: Tensor,
    dim: Any = None,
    unbiased: bool | None = None,
    keepdim: bool = False,
    *,
    correction: float | None = None,
    _op: Any = None,
) -> tuple[Tensor, Tensor]:
    mean = ops.mean(input, None if isinstance(dim, bool) else _arguments.axes_or_all(dim), keepdim)
    return _moment(_op, input, dim, unbiased, correction, keepdim), mean


std_mean = specialize("std_mean", "The standard deviation and the mean along axes.", _with_mean, _op=ops.std)
var_mean = specialize("var_mean", "The variance and the mean along axes.", _with_mean, _op=ops.var)


def _of_axes(function: str, count: int, **tensors: Any) -> None:
    """Raises unless each tensor has this number of axes."""
    for name, x in tensors.items():
        if _arguments.tensor(x, function, name).ndim != count:
            raise ShapeError(f"{function}: {name} must be {count}-D, got a {x.ndim}-D tensor of shape {tuple(x.shape)}")


def cummax(input: Tensor, dim: int) -> ValuesAndIndices:
    """The cumulative maximum along an axis and its indices."""
    return return_types.cummax(*ops.cummax(input, dim))


def cummin(input: Tensor, dim: int) -> ValuesAndIndices:
    """The cumulative minimum along an axis and its indices."""
    return return_types.cummin(*ops.cummin(input, dim))


def sum_to_size(input: Tensor, *sizes: Any, size: Any = None) -> Tensor:
    """The sum down to a shape that broadcasts to the tensor's. Integers and truth values are summed in int64."""
    found = ops.sum_to_size(_summed(input, "sum_to_size"), _shape(sizes, size))
    return found if found.shape != input.shape else ops.cast(found, input.dtype)


def _summed(input: Tensor, function: str) -> Tensor:
    """The tensor in the dtype of its sums."""
    kind = _arguments.tensor(input, function, "input").dtype.kind
    return ops.cast(input, "int64") if kind in "iub" else input


def aminmax(input: Tensor, *, dim: int | None = None, keepdim: bool = False) -> Any:
    """The smallest and the largest element, along an axis if there is one. Equal ones share the gradient."""
    return return_types.aminmax(ops.min(input, dim, keepdim), ops.max(input, dim, keepdim))


def gradient(input: Tensor, *, spacing: Any = 1, dim: Any = None, edge_order: int = 1) -> tuple[Tensor, ...]:
    """The derivative along each axis, from differences of the second order; at the borders of ``edge_order`` 1 or 2.

    ``spacing`` is the distance of the samples, one number for all axes or one for each, or a vector of places for each.
    """
    return derivatives(input, spacing, dim, edge_order, "torch.gradient")


def softmax(input: Tensor, dim: int, dtype: Any = None) -> Tensor:
    """``exp(x) / sum(exp(x))`` along an axis, computed in ``dtype`` if it is given."""
    return ops.softmax(in_inexact(input, dtype, "softmax"), dim)


def log_softmax(input: Tensor, dim: int, dtype: Any = None) -> Tensor:
    """The logarithm of the softmax along an axis, computed in ``dtype`` if it is given."""
    return ops.log_softmax(in_inexact(input, dtype, "log_softmax"), dim)


def hash_tensor(input: Tensor, dim: Any = (), *, keepdim: bool = False, mode: int = 0) -> Tensor:
    """The bits of the elements, as float64 or int64, combined by exclusive or over axes, all by default: a uint64."""
    if mode:
        raise ArgumentError(f"hash_tensor: mode is 0, the exclusive or, not {mode}")
    x = _arguments.tensor(input, "hash_tensor", "input").detach()
    bits = ops.cast(x, "float64" if x.dtype.kind in "fV" else "int64").numpy().view(np.uint64)
    given = dim if isinstance(dim, list | tuple) else [dim]
    axes = [_arguments.axis(d, "hash_tensor", x.ndim or 1) for d in given][: x.ndim]
    combine: Any = np.bitwise_xor.reduce
    found = combine(bits, tuple(axes) or None, keepdims=keepdim)
    return _core.make(found, "uint64", False, TORCH)
