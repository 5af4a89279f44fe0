"""``torch.masked``: functions of the elements where a mask is true. A mask broadcasts to the shape of its tensor."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ferrograd._core import ArgumentError, ShapeError, torch as ops
from ferrograd._kit import arguments as _arguments, public as _public
from ferrograd._kit.specialize import specialize
from ferrograd.torch._functions.reduce import log_softmax as _log_softmax, nanmedian, softmax as _softmax
from ferrograd.torch._tensor import Tensor

__all__ = [
    "amax",
    "amin",
    "argmax",
    "argmin",
    "cumprod",
    "cumsum",
    "log_softmax",
    "logaddexp",
    "logsumexp",
    "mean",
    "median",
    "norm",
    "normalize",
    "prod",
    "softmax",
    "softmin",
    "std",
    "sum",
    "var",
]


def _filled(input: Tensor, mask: Tensor | None, value: float, function: str) -> Tensor:
    """The input with a value where the mask is false. An infinite value of integers is the last one of their dtype."""
    input = _arguments.tensor(input, f"masked.{function}", "input")
    if mask is None:
        return input
    if math.isinf(value) and input.dtype.kind in "iu":
        limits = np.iinfo(input.dtype.name)
        value = int(limits.max if value > 0 else limits.min)
    if _arguments.tensor(mask, f"masked.{function}", "mask").ndim > input.ndim:
        raise ShapeError(
            f"masked.{function}: the mask of shape {list(mask.shape)} has more axes than the input, which has shape "
            f"{list(input.shape)}"
        )
    hidden = ops.logical_not(ops.cast(mask, "bool"))
    filled: Tensor = ops.masked_fill(input, ops.broadcast_to(hidden, list(input.shape)), value)
    return filled


def _cast(found: Any, dtype: Any) -> Any:
    return found if dtype is None else ops.cast(found, dtype)


def _total(
    input: Tensor,
    dim: Any = None,
    *,
    keepdim: bool = False,
    dtype: Any = None,
    mask: Tensor | None = None,
    _op: Any = None,
    _identity: Any = None,
) -> Tensor:
    filled = _filled(input, mask, _identity, _op.__name__)
    found: Tensor = _op(filled, _arguments.axes_or_all(dim), keepdim, dtype)
    return found


sum = specialize(
    "sum",
    """The sum over the axes ``dim``, all by default. Of no elements it is 0.

    >>> import ferrograd.torch as torch
    >>> x = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    >>> torch.masked.sum(x, 1, mask=torch.tensor([[True, False], [True, True]])).tolist()
    [1.0, 7.0]
    """,
    _total,
    _op=ops.sum,
    _identity=0,
)
prod = specialize(
    "prod",
    "The product over the axes ``dim``, all by default. Of no elements it is 1.",
    _total,
    _op=ops.prod,
    _identity=1,
)


def _extreme(
    input: Tensor,
    dim: Any = None,
    *,
    keepdim: bool = False,
    dtype: Any = None,
    mask: Tensor | None = None,
    _op: Any = None,
    _name: str = "",
    _identity: Any = None,
) -> Tensor:
    found: Tensor = _cast(_op(_filled(input, mask, _identity, _name), _arguments.axes_or_all(dim), keepdim), dtype)
    return found


amax = specialize(
    "amax",
    "The largest element over the axes ``dim``, all by default. Of no elements it is -inf, or the smallest integer.",
    _extreme,
    _op=ops.max,
    _name="amax",
    _identity=-math.inf,
)
amin = specialize(
    "amin",
    "The smallest element over the axes ``dim``, all by default. Of no elements it is inf, or the largest integer.",
    _extreme,
    _op=ops.min,
    _name="amin",
    _identity=math.inf,
)
argmax = specialize(
    "argmax",
    "The index of the largest element along an axis, by default of the flat input.",
    _extreme,
    _op=ops.argmax,
    _name="argmax",
    _identity=-math.inf,
)
argmin = specialize(
    "argmin",
    "The index of the smallest element along an axis, by default of the flat input.",
    _extreme,
    _op=ops.argmin,
    _name="argmin",
    _identity=math.inf,
)


def logsumexp(
    input: Tensor, dim: Any = None, *, keepdim: bool = False, dtype: Any = None, mask: Tensor | None = None
) -> Tensor:
    """The logarithm of the sum of exponentials over the axes ``dim``, all by default. Of no elements it is -inf."""
    filled = _filled(_cast(_arguments.tensor(input, "masked.logsumexp", "input"), dtype), mask, -math.inf, "logsumexp")
    found: Tensor = ops.logsumexp(filled, _arguments.axes_or_all(dim), keepdim)
    return found


def logaddexp(
    input: Tensor,
    other: Tensor,
    *,
    dtype: Any = None,
    input_mask: Tensor | None = None,
    other_mask: Tensor | None = None,
) -> Tensor:
    """``log(exp(input) + exp(other))`` of two tensors with a mask each. Where an element is hidden the other counts."""
    x = _filled(input, input_mask, -math.inf, "logaddexp")
    y = _filled(other, other_mask, -math.inf, "logaddexp")
    found: Tensor = _cast(ops.logaddexp(x, y), dtype)
    return found


def _counted(input: Tensor, mask: Tensor | None, dim: Any, keepdim: bool, function: str) -> Any:
    """The number of elements that are not hidden."""
    ones = ops.ones(list(_arguments.tensor(input, f"masked.{function}", "input").shape), "int64")
    return ops.sum(_filled(ones, mask, 0, function), _arguments.axes_or_all(dim), keepdim)


def mean(
    input: Tensor, dim: Any = None, *, keepdim: bool = False, dtype: Any = None, mask: Tensor | None = None
) -> Tensor:
    """The mean over the axes ``dim``, all by default. Of no elements it is NaN. Integers need a ``dtype``.

    >>> import ferrograd.torch as torch
    >>> torch.masked.mean(torch.tensor([1.0, 2.0, 9.0]), mask=torch.tensor([True, True, False])).item()
    1.5
    """
    wanted = _arguments.tensor(input, "masked.mean", "input").dtype if dtype is None else dtype
    count = _counted(input, mask, dim, keepdim, "mean")
    total = sum(input, dim, keepdim=keepdim, dtype=wanted, mask=mask)
    if total.dtype.kind not in "fcV":
        raise ArgumentError(f"masked.mean: a floating or complex dtype is needed, not {total.dtype.name}")
    found: Tensor = ops.divide(total, ops.cast(count, total.dtype))
    return found


def _variance(
    input: Tensor,
    dim: Any = None,
    unbiased: bool | None = None,
    *,
    correction: float | None = None,
    keepdim: bool = False,
    dtype: Any = None,
    mask: Tensor | None = None,
    _name: str = "",
) -> Tensor:
    if unbiased is not None and correction is not None:
        raise ArgumentError(f"masked.{_name}: only one of unbiased and correction may be given")
    less = correction if correction is not None else 1.0 if unbiased is None else float(unbiased)
    x = _arguments.tensor(input, f"masked.{_name}", "input")
    if dtype is not None or x.dtype.kind not in "fcV":
        x = ops.cast(x, "float32" if dtype is None else dtype)
    distance = ops.subtract(x, mean(x, dim, keepdim=True, mask=mask))
    squares = ops.real(ops.multiply(distance, ops.conj(distance)))
    total = sum(squares, dim, keepdim=keepdim, mask=mask)
    count = ops.cast(_counted(x, mask, dim, keepdim, _name), total.dtype)
    found = ops.divide(total, ops.maximum(ops.subtract(count, less), 0.0))
    result: Tensor = _cast(ops.sqrt(found) if _name == "std" else found, x.dtype)
    return result


var = specialize(
    "var",
    """The variance over the axes ``dim``, all by default: the sum of squares is divided by the count less
    ``correction``, which is 0 where ``unbiased`` is false, and else by default 1.
    """,
    _variance,
    _name="var",
)
std = specialize("std", "The square root of :func:`var`, which has the same parameters.", _variance, _name="std")


def median(
    input: Tensor, dim: int | None = -1, *, keepdim: bool = False, dtype: Any = None, mask: Tensor | None = None
) -> Tensor:
    """The smaller of two middle elements along an axis, or of all; NaN where there are none, which integers refuse."""
    x = _arguments.tensor(input, "masked.median", "input")
    of_floats = x.dtype.kind in "fV"
    filled = _filled(x if of_floats else ops.cast(x, "float32"), mask, math.nan, "median")
    found = nanmedian(filled) if dim is None else nanmedian(filled, dim, keepdim).values
    if of_floats:
        return found
    if bool(ops.any(ops.isnan(found))):
        raise ArgumentError("masked.median: the median of no elements is NaN, which is not an integer")
    whole: Tensor = ops.cast(found, x.dtype if dtype is None else dtype)
    return whole


def norm(
    input: Tensor,
    ord: float | None = 2.0,
    dim: Any = None,
    *,
    keepdim: bool = False,
    dtype: Any = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The vector norm over the axes ``dim``, all by default. Of no elements it is 0, and that of order -inf is inf."""
    order = 2.0 if ord is None else ord
    filled = _filled(input, mask, math.inf if order == -math.inf else 0, "norm")
    found: Tensor = ops.vector_norm(_cast(filled, dtype), order, _arguments.axes_or_all(dim), keepdim)
    return found


def normalize(
    input: Tensor, ord: float, dim: int, *, eps: float = 1e-12, dtype: Any = None, mask: Tensor | None = None
) -> Tensor:
    """The input divided by its norm along an axis, which is at least ``eps``; 0 where the mask is false."""
    size = norm(input, ord, dim, keepdim=True, dtype=dtype, mask=mask)
    found: Tensor = ops.divide(_filled(input, mask, 0, "normalize"), ops.maximum(size, eps))
    return found


def softmax(input: Tensor, dim: int, *, dtype: Any = None, mask: Tensor | None = None) -> Tensor:
    """The softmax along an axis. Elements where the mask is false get 0, or NaN where the mask is false for all.

    >>> import ferrograd.torch as torch
    >>> torch.masked.softmax(torch.zeros(3), 0, mask=torch.tensor([True, True, False])).tolist()
    [0.5, 0.5, 0.0]
    """
    return _softmax(_filled(input, mask, -math.inf, "softmax"), dim, dtype=dtype)


def softmin(input: Tensor, dim: int, *, dtype: Any = None, mask: Tensor | None = None) -> Tensor:
    """The :func:`softmax` of the negated input."""
    return _softmax(ops.negative(_filled(input, mask, math.inf, "softmin")), dim, dtype=dtype)


def log_softmax(input: Tensor, dim: int, *, dtype: Any = None, mask: Tensor | None = None) -> Tensor:
    """The logarithm of :func:`softmax`: -inf where the mask is false."""
    return _log_softmax(_filled(input, mask, -math.inf, "log_softmax"), dim, dtype=dtype)


def _scan(
    input: Tensor, dim: int, *, dtype: Any = None, mask: Tensor | None = None, _op: Any = None, _identity: Any = None
) -> Tensor:
    found: Tensor = _op(_filled(input, mask, _identity, _op.__name__), dim, dtype)
    return found


cumsum = specialize("cumsum", "The sum of the elements up to each along an axis.", _scan, _op=ops.cumsum, _identity=0)
cumprod = specialize(
    "cumprod", "The product of the elements up to each along an axis.", _scan, _op=ops.cumprod, _identity=1
)

__dir__ = _public.names(globals())
