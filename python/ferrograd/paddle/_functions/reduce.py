"""Paddle's reductions and scans whose arguments differ from the core's. Each is a tensor method too."""

from __future__ import annotations

import math
from typing import Any

from ferrograd import _core
from ferrograd._core import ArgumentError, paddle as ops
from ferrograd._functions.casts import in_inexact
from ferrograd._functions.reduce import lower_median, nan_lower_median
from ferrograd._kit import arguments as _arguments
from ferrograd._kit.dialect import PADDLE
from ferrograd.paddle._tensor import Tensor

__all__ = [
    "argmax",
    "argmin",
    "cummax",
    "cummin",
    "cumulative_trapezoid",
    "logcumsumexp",
    "median",
    "nanmedian",
    "nanquantile",
    "nansum",
    "norm",
    "quantile",
    "reduce_as",
    "renorm",
    "softmax",
    "std",
    "sum",
    "trapezoid",
    "var",
]


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


def cummax(x: Tensor, axis: int | None = None, dtype: Any = "int64", name: Any = None) -> tuple[Tensor, Tensor]:
    """The cumulative maximum along an axis (of the flat tensor without one) and its indices."""
    values, indices = ops.cummax(x, axis)
    return values, ops.cast(indices, dtype)


def cummin(x: Tensor, axis: int | None = None, dtype: Any = "int64", name: Any = None) -> tuple[Tensor, Tensor]:
    """The cumulative minimum along an axis (of the flat tensor without one) and its indices."""
    values, indices = ops.cummin(x, axis)
    return values, ops.cast(indices, dtype)


def _mean_of_none(x: Tensor, axis: Any, keepdim: bool) -> Tensor:
    """NaN in the shape that a mean of a tensor without elements has."""
    x = x if x.dtype.kind == "f" else ops.cast(x, ops.get_default_dtype())
    return ops.mean(x, _arguments.axes_or_all(axis), keepdim)


def median(
    x: Tensor, axis: Any = None, keepdim: bool = False, mode: str = "avg", name: str | None = None
) -> Tensor | tuple[Tensor, Tensor]:
    """The median: the mean of the two middle elements, NaN of none, or with ``mode="min"`` the smaller of them.

    With an axis and ``mode="min"`` also its index.
    """
    x = _arguments.tensor(x, "median", "x")
    if mode == "avg":
        found = _mean_of_none(x, axis, keepdim) if 0 in x.shape else ops.median(x, axis, keepdim)
        return ops.cast(found, "float32") if found.dtype.itemsize == 2 else found
    if mode != "min":
        raise ArgumentError(f"median: mode must be 'avg' or 'min', not {mode!r}")
    if axis is not None:
        values, indices = ops.median_with_index(x, axis, keepdim)
        return values, indices
    middle = lower_median(x)
    return ops.reshape(middle, [1] * x.ndim) if keepdim else middle


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


def softmax(input: Tensor, dim: int | None = None, dtype: Any = None) -> Tensor:
    """``exp(x) / sum(exp(x))`` along an axis: by default 0 if there are 0, 1 or 3 axes, else 1."""
    input = _arguments.tensor(input, "softmax", "input")
    axis = (0 if input.ndim in (0, 1, 3) else 1) if dim is None else dim
    return ops.softmax(in_inexact(input, dtype, "softmax"), axis)


def std(x: Tensor, axis: Any = None, unbiased: bool = True, keepdim: bool = False, name: str | None = None) -> Tensor:
    """The standard deviation along axes."""
    return ops.std(x, _arguments.axes_or_all(axis), float(unbiased), keepdim)


def sum(x: Tensor, axis: Any = None, dtype: Any = None, keepdim: bool = False, name: str | None = None) -> Tensor:
    """The sum along axes."""
    return ops.sum(x, _arguments.axes_or_all(axis), keepdim, dtype)


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


def logcumsumexp(x: Tensor, axis: int | None = None, dtype: Any = None, name: str | None = None) -> Tensor:
    """The logarithms of the cumulative sums of ``exp(x)`` along an axis; without one, of the flat tensor."""
    return ops.logcumsumexp(x if dtype is None else ops.cast(x, dtype), axis)


def nansum(x: Tensor, axis: Any = None, dtype: Any = None, keepdim: bool = False, name: str | None = None) -> Tensor:
    """The sum along axes; NaN counts as 0."""
    found: Tensor = ops.nansum(x, _arguments.axes_or_all(axis), keepdim, dtype)
    return found


def nanmedian(x: Tensor, axis: Any = None, keepdim: bool = False, mode: str = "avg", name: str | None = None) -> Any:
    """The median of the elements that are not NaN, NaN where there are none.

    Of two middle elements it is their mean, or with ``mode="min"`` the smaller one, and with an axis also its index.
    """
    if mode not in ("avg", "min"):
        raise ArgumentError(f"nanmedian: mode must be 'avg' or 'min', not {mode!r:.40}")
    x = _arguments.tensor(x, "nanmedian", "x")
    if 0 in x.shape and mode == "avg":
        return _mean_of_none(x, axis, keepdim)
    is_one = isinstance(axis, int)
    if x.ndim == 0 and is_one:
        _arguments.axis(axis, "nanmedian", 1)
        axis, is_one = None, False
    given = (
        list(range(x.ndim)) if axis is None else _arguments.integers([axis] if is_one else axis, "nanmedian", "axis")
    )
    axes = [_arguments.axis(a, "nanmedian", x.ndim) for a in given]
    kept = [i for i in range(x.ndim) if i not in axes]
    shape = [x.shape[i] for i in kept]
    rows = ops.reshape(ops.permute_dims(x, kept + axes), [*shape, math.prod(x.shape[i] for i in axes)])
    value, index, upper = nan_lower_median(rows)
    if mode == "avg":
        value = ops.divide(ops.add(value, upper), 2)
    shape = [1 if i in axes else n for i, n in enumerate(x.shape)] if keepdim else shape
    value = ops.reshape(value, shape)
    return (value, ops.reshape(index, shape)) if mode == "min" and is_one else value


def _integral(name: str, rule: Any, y: Tensor, x: Tensor | None, dx: float | None, axis: int) -> Any:
    if x is not None and dx is not None:
        raise ArgumentError(f"{name}: give x or dx, not both")
    return rule(y, x, 1.0 if dx is None else dx, axis)


def trapezoid(
    y: Tensor,
    x: Tensor | None = None,
    dx: float | None = None,
    axis: int = -1,
    mode: str = "sum",
    name: str | None = None,
) -> Tensor:
    """The integral along an axis by the trapezoidal rule, of values at the points ``x`` or ``dx`` (1) apart.

    With ``mode="cumsum"`` the integrals up to each point.

    >>> import ferrograd.paddle as paddle
    >>> paddle.trapezoid(paddle.to_tensor([1.0, 2.0, 3.0])).item()
    4.0
    """
    if mode not in ("sum", "cumsum"):
        raise ArgumentError(f"trapezoid: mode must be 'sum' or 'cumsum', not {mode!r:.40}")
    return _integral("trapezoid", ops.trapezoid if mode == "sum" else ops.cumulative_trapezoid, y, x, dx, axis)


def cumulative_trapezoid(
    y: Tensor, x: Tensor | None = None, dx: float | None = None, axis: int = -1, name: str | None = None
) -> Tensor:
    """The integrals up to each point along an axis by the trapezoidal rule.

    >>> import ferrograd.paddle as paddle
    >>> paddle.cumulative_trapezoid(paddle.to_tensor([1.0, 2.0, 3.0])).tolist()
    [1.5, 4.0]
    """
    return _integral("cumulative_trapezoid", ops.cumulative_trapezoid, y, x, dx, axis)


def _parts(q: Any, function: str) -> Any:
    if isinstance(q, list | tuple) and not q:
        raise ArgumentError(f"{function}: q should not be empty")
    return ops.cast(_core.make(q, "float64", False, PADDLE), "float64") if isinstance(q, list | tuple) else q


def quantile(
    x: Tensor,
    q: Any,
    axis: Any = None,
    keepdim: bool = False,
    interpolation: str = "linear",
    name: str | None = None,
) -> Tensor:
    """The elements along axes below which the part ``q`` of them lies: a number, or several for a new first axis."""
    return ops.quantile(x, _parts(q, "quantile"), axis, keepdim, interpolation)


def nanquantile(
    x: Tensor,
    q: Any,
    axis: Any = None,
    keepdim: bool = False,
    interpolation: str = "linear",
    name: str | None = None,
) -> Tensor:
    """:func:`quantile` of the elements that are not NaN."""
    return ops.nanquantile(x, _parts(q, "nanquantile"), axis, keepdim, interpolation)


def reduce_as(x: Tensor, target: Tensor, name: str | None = None) -> Tensor:
    """The sum of ``x`` over the axes along which ``target`` would be broadcast to it."""
    return ops.sum_to_size(x, list(_arguments.tensor(target, "reduce_as", "target").shape))


def renorm(x: Tensor, p: float, axis: int, max_norm: float) -> Tensor:
    """The slices along an axis, each scaled down to the ``p``-norm ``max_norm`` if its norm is larger."""
    return ops.renorm(x, p, axis, max_norm)
