"""Paddle's functions that the core does not have, or with other arguments, second part. Each is a tensor method too."""

from __future__ import annotations

import builtins
import math
from collections.abc import Callable, Sequence
from typing import Any

from ferrograd import _arguments, _core
from ferrograd._core import ArgumentError, DtypeError, ShapeError
from ferrograd._core import paddle as ops
from ferrograd._dialects import histograms
from ferrograd._dialects.distinct import distinct, runs
from ferrograd._dialects.numbers import PADDLE
from ferrograd._dialects.out_argument import into
from ferrograd._dialects.quotients import quotient
from ferrograd._dialects.reductions import nan_lower_median
from ferrograd._dialects.windows import windows
from ferrograd.paddle._index import slices
from ferrograd.paddle._tensor import Tensor

__all__ = [
    "add",
    "as_strided",
    "atleast_1d",
    "atleast_2d",
    "atleast_3d",
    "bitwise_left_shift",
    "bitwise_right_shift",
    "block_diag",
    "bucketize",
    "cdist",
    "crop",
    "cumulative_trapezoid",
    "div",
    "divide",
    "dsplit",
    "floor_mod",
    "frexp",
    "histogram",
    "histogram_bin_edges",
    "histogramdd",
    "hsplit",
    "isin",
    "isneginf",
    "isposinf",
    "logcumsumexp",
    "masked_scatter",
    "nanmedian",
    "nanquantile",
    "nansum",
    "polygamma",
    "quantile",
    "reduce_as",
    "renorm",
    "repeat_interleave",
    "reverse",
    "searchsorted",
    "select_scatter",
    "set_default_dtype",
    "shard_index",
    "slice_scatter",
    "sub",
    "subtract",
    "swapaxes",
    "swapdims",
    "take",
    "take_along_dim",
    "tensor_split",
    "trapezoid",
    "unfold",
    "unique",
    "unique_consecutive",
    "vander",
    "view",
    "vsplit",
]


def add(x: Tensor, y: Any, name: str | None = None, *, alpha: float = 1) -> Tensor:
    """``x + alpha * y``."""
    return ops.add(x, y if alpha == 1 else ops.multiply(y, alpha))


def subtract(x: Tensor, y: Any, name: str | None = None, *, alpha: float = 1) -> Tensor:
    """``x - alpha * y``."""
    return ops.subtract(x, y if alpha == 1 else ops.multiply(y, alpha))


def sub(x: Tensor, y: Any, name: str | None = None, *, alpha: float = 1) -> Tensor:
    """The same as :func:`subtract`."""
    return subtract(x, y, alpha=alpha)


def divide(x: Tensor, y: Any, name: str | None = None, *, rounding_mode: str | None = None) -> Tensor:
    """The quotient; with the ``rounding_mode`` "trunc" rounded towards 0, with "floor" down."""
    return quotient(ops, x, y, rounding_mode)


def div(x: Tensor, y: Any, name: str | None = None, *, rounding_mode: str | None = None) -> Tensor:
    """The same as :func:`divide`."""
    return quotient(ops, x, y, rounding_mode)


def floor_mod(x: Tensor, y: Any, name: str | None = None) -> Tensor:
    """The remainder of the quotient that is rounded down."""
    return ops.remainder(x, y)


def _shifted(op: Callable[..., Tensor], x: Tensor, y: Any, is_arithmetic: bool) -> Tensor:
    if is_arithmetic or _arguments.tensor(x, "bitwise_right_shift", "x").dtype.kind != "i":
        return op(x, y)
    # The sign bit moves like the others.
    bits = ops.cast(x, f"uint{8 * x.dtype.itemsize}")
    return ops.cast(op(bits, ops.cast(y, bits.dtype) if isinstance(y, Tensor) else y), x.dtype)


def bitwise_left_shift(x: Tensor, y: Any, is_arithmetic: bool = True, name: str | None = None) -> Tensor:
    """The bits moved left by ``y`` places."""
    return ops.bitwise_left_shift(x, y)


def bitwise_right_shift(x: Tensor, y: Any, is_arithmetic: bool = True, name: str | None = None) -> Tensor:
    """The bits moved right by ``y`` places. The sign is kept, unless ``is_arithmetic`` is False."""
    return _shifted(ops.bitwise_right_shift, x, y, is_arithmetic)


def isneginf(x: Tensor, name: str | None = None) -> Tensor:
    """Whether each element is minus infinity."""
    return ops.logical_and(ops.isinf(x), ops.less(x, 0))


def isposinf(x: Tensor, name: str | None = None) -> Tensor:
    """Whether each element is infinity."""
    return ops.logical_and(ops.isinf(x), ops.greater(x, 0))


def polygamma(x: Tensor, n: int, name: str | None = None) -> Tensor:
    """The ``n``-th derivative of the digamma function."""
    found: Tensor = ops.polygamma(n, x)
    return found


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


def _parts(q: Any) -> Any:
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
    return ops.quantile(x, _parts(q), axis, keepdim, interpolation)


def nanquantile(
    x: Tensor,
    q: Any,
    axis: Any = None,
    keepdim: bool = False,
    interpolation: str = "linear",
    name: str | None = None,
) -> Tensor:
    """:func:`quantile` of the elements that are not NaN."""
    return ops.nanquantile(x, _parts(q), axis, keepdim, interpolation)


def frexp(x: Tensor, name: str | None = None) -> tuple[Tensor, Tensor]:
    """The elements as ``mantissa * 2**exponent``, with the mantissa in [0.5, 1) and the exponent in the dtype of x."""
    mantissa, exponent = ops.frexp(x)
    return mantissa, ops.cast(exponent, mantissa.dtype)


def cdist(x: Tensor, y: Tensor, p: float = 2.0, compute_mode: str = "", name: str | None = None) -> Tensor:
    """The ``p``-norms of the differences of all pairs of rows. ``compute_mode`` changes nothing."""
    return ops.cdist(x, y, p)


def set_default_dtype(d: Any) -> None:
    """Sets the dtype of new tensors of Python floats."""
    ops.set_default_dtype(d)


def reduce_as(x: Tensor, target: Tensor, name: str | None = None) -> Tensor:
    """The sum of ``x`` over the axes along which ``target`` would be broadcast to it."""
    return ops.sum_to_size(x, list(_arguments.tensor(target, "reduce_as", "target").shape))


def renorm(x: Tensor, p: float, axis: int, max_norm: float) -> Tensor:
    """The slices along an axis, each scaled down to the ``p``-norm ``max_norm`` if its norm is larger."""
    return ops.renorm(x, p, axis, max_norm)


# Shapes


def _each(f: Callable[[Tensor], Tensor], tensors: tuple[Any, ...], name: str) -> Any:
    if len(tensors) == 1 and isinstance(tensors[0], list | tuple):
        tensors = tuple(tensors[0])
    found = [f(_arguments.tensor(x, name, "inputs")) for x in tensors]
    return found[0] if len(found) == 1 else found


def atleast_1d(*inputs: Any, name: str | None = None) -> Any:
    """The tensor with at least one axis; a list for several tensors."""
    return _each(lambda x: x if x.ndim else ops.reshape(x, [1]), inputs, "atleast_1d")


def atleast_2d(*inputs: Any, name: str | None = None) -> Any:
    """The tensor with at least two axes, new ones in front; a list for several tensors."""
    return _each(lambda x: x if x.ndim > 1 else ops.reshape(x, [1, -1]), inputs, "atleast_2d")


def atleast_3d(*inputs: Any, name: str | None = None) -> Any:
    """The tensor with at least three axes; a vector of n elements becomes [1, n, 1]. A list for several tensors."""

    def one(x: Tensor) -> Tensor:
        if x.ndim > 2:
            return x
        before = [1] * (x.ndim < 2)
        return ops.reshape(x, [*before, *x.shape] + [1] * (3 - x.ndim - len(before)))

    return _each(one, inputs, "atleast_3d")


def tensor_split(x: Tensor, num_or_indices: Any, axis: Any = 0, name: str | None = None) -> list[Tensor]:
    """A number of parts along an axis, the first ones longer by one if need be, or the parts between indices."""
    return list(ops.tensor_split(x, num_or_indices, _arguments.integer(axis, "tensor_split", "axis")))


def _split_along(x: Tensor, num_or_indices: Any, axis: int, function: str) -> list[Tensor]:
    if _arguments.tensor(x, function, "x").ndim <= axis:
        raise ShapeError(f"{function}: x must have more than {axis} axes, got shape {list(x.shape)}")
    return list(ops.tensor_split(x, num_or_indices, axis))


def hsplit(x: Tensor, num_or_indices: Any, name: str | None = None) -> list[Tensor]:
    """:func:`tensor_split` along axis 1, or along axis 0 of a vector."""
    axis = 0 if _arguments.tensor(x, "hsplit", "x").ndim == 1 else 1
    return _split_along(x, num_or_indices, axis, "hsplit")


def vsplit(x: Tensor, num_or_indices: Any, name: str | None = None) -> list[Tensor]:
    """:func:`tensor_split` along axis 0 of a tensor with at least two axes."""
    if _arguments.tensor(x, "vsplit", "x").ndim < 2:
        raise ShapeError(f"vsplit: x must have at least two axes, got shape {list(x.shape)}")
    return _split_along(x, num_or_indices, 0, "vsplit")


def dsplit(x: Tensor, num_or_indices: Any, name: str | None = None) -> list[Tensor]:
    """:func:`tensor_split` along axis 2."""
    return _split_along(x, num_or_indices, 2, "dsplit")


def swapaxes(x: Tensor, *axes: Any, perm: Any = None, name: str | None = None) -> Tensor:
    """Two axes swapped, or all axes in the order ``perm``."""
    order = perm if perm is not None else axes[0] if len(axes) == 1 else None
    return ops.swapaxes(x, *axes) if order is None else ops.permute_dims(x, order)


def swapdims(x: Tensor, *axes: Any, perm: Any = None, name: str | None = None) -> Tensor:
    """The same as :func:`swapaxes`."""
    return swapaxes(x, *axes, perm=perm)


def block_diag(inputs: Any, name: str | None = None) -> Tensor:
    """A matrix with these matrices along its diagonal, and zeros elsewhere."""
    return ops.block_diag(inputs)


def view(x: Tensor, shape_or_dtype: Any, name: str | None = None) -> Tensor:
    """A view of the same memory with another shape.

    Raises:
        DtypeError: a dtype is given; the bytes of a tensor cannot be read as another dtype.
    """
    if not isinstance(shape_or_dtype, list | tuple | Tensor):
        raise DtypeError(
            "view: the bytes of a tensor cannot be read as another dtype; cast(dtype) converts the numbers"
        )
    return ops.view(x, shape_or_dtype)


def reverse(x: Tensor, axis: Any, name: str | None = None) -> Tensor:
    """The tensor with the order of its elements along axes reversed."""
    return ops.flip(x, axis)


def crop(x: Tensor, shape: Any = None, offsets: Any = None, name: str | None = None) -> Tensor:
    """The part of ``x`` of a shape that begins at ``offsets`` (zeros). A size of -1 takes all that is left."""
    x = _arguments.tensor(x, "crop", "x")
    starts = [0] * x.ndim if offsets is None else _arguments.integers(offsets, "crop", "offsets")
    sizes = list(x.shape) if shape is None else _arguments.integers(shape, "crop", "shape")
    if len(starts) != x.ndim or len(sizes) != x.ndim:
        raise ShapeError(f"crop: a size and an offset for each axis of {list(x.shape)}, not {sizes} and {starts}")
    for i, (n, start, size) in enumerate(zip(x.shape, starts, sizes, strict=True)):
        sizes[i] = n - start if size == -1 else size
        if start < 0 or sizes[i] < 0 or start + sizes[i] > n:
            raise ShapeError(f"crop: {size} elements from {start} on are not in axis {i} of {list(x.shape)}")
    return x[tuple(builtins.slice(start, start + size) for start, size in zip(starts, sizes, strict=True))]


def as_strided(x: Tensor, shape: Any, stride: Any, offset: int = 0, name: str | None = None) -> Tensor:
    """A view of the memory of ``x`` with this shape and these strides, counted in elements."""
    return ops.as_strided(x, shape, stride, offset)


def unfold(x: Tensor, axis: int, size: int, step: int, name: str | None = None) -> Tensor:
    """A view of all windows of ``size`` elements along an axis, ``step`` apart. The last axis runs inside a window."""
    return windows(x, axis, size, step)


def vander(x: Tensor, n: int | None = None, increasing: bool = False, name: str | None = None) -> Tensor:
    """The powers of a vector's elements as ``n`` columns: falling, or ``increasing``."""
    if _arguments.tensor(x, "vander", "x").ndim != 1:
        raise ShapeError(f"vander: x must be a vector, got shape {list(x.shape)}")
    powers = ops.linalg.vander(x, n)
    return powers if increasing else ops.flip(powers, -1)


# Indices and sets


def repeat_interleave(
    x: Tensor, repeats: Any, axis: int | None = None, name: str | None = None, *, output_size: int | None = None
) -> Tensor:
    """The slices along an axis, each repeated; without an axis the elements. ``output_size`` is known without it."""
    return ops.repeat_interleave(x, repeats, axis)


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


def masked_scatter(x: Tensor, mask: Tensor, value: Tensor, name: str | None = None) -> Tensor:
    """``x`` with the first elements of ``value`` where the mask is true."""
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
    """Elements by their indices along an axis, or in the flat tensor. The other axes broadcast."""
    return ops.take_along_axis(arr, ops.reshape(indices, [-1]) if axis is None else indices, axis)


def searchsorted(
    sorted_sequence: Tensor,
    values: Any,
    out_int32: bool = False,
    right: bool = False,
    name: str | None = None,
    *,
    side: str | None = None,
    out: Tensor | None = None,
    sorter: Tensor | None = None,
) -> Tensor:
    """Where elements would be inserted into rising rows so that these stay rising."""
    found = ops.searchsorted(sorted_sequence, values, right, side, sorter)
    return into(out, ops.cast(found, "int32") if out_int32 else found)


def bucketize(
    x: Tensor, sorted_sequence: Tensor, out_int32: bool = False, right: bool = False, name: str | None = None
) -> Tensor:
    """How many of the rising numbers are below each element, or with ``right`` not above it."""
    found = ops.bucketize(x, sorted_sequence, right)
    return ops.cast(found, "int32") if out_int32 else found


def isin(
    x: Tensor, test_x: Tensor, assume_unique: bool = False, invert: bool = False, name: str | None = None
) -> Tensor:
    """Whether each element is one of ``test_x``; with ``invert`` whether it is none."""
    return ops.isin(x, test_x, invert)


def shard_index(input: Tensor, index_num: int, nshards: int, shard_id: int, ignore_value: int = -1) -> Tensor:
    """The indices as those within one of ``nshards`` equal parts of ``index_num``; elsewhere ``ignore_value``."""
    if nshards < 1 or not 0 <= shard_id < nshards:
        raise ArgumentError(f"shard_index: shard_id {shard_id} is not one of {nshards} parts")
    size = -(-index_num // nshards)
    inside = ops.equal(ops.floor_divide(input, size), shard_id)
    return ops.where(inside, ops.remainder(input, size), ops.full_like(input, ignore_value))


def unique(
    x: Tensor,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: int | None = None,
    dtype: Any = "int64",
    sorted: bool = True,
    name: str | None = None,
) -> Any:
    """The distinct elements in rising order, or with an axis the distinct slices.

    Also, if asked for, where each is first, which of them each element is, and how often each is there, as ``dtype``.
    """
    values, first, inverse, counts = distinct(_arguments.tensor(x, "unique", "x"), axis, "unique")
    found = (values, first, ops.reshape(inverse, [-1]), counts)
    return _chosen(found, (return_index, return_inverse, return_counts), dtype)


def unique_consecutive(
    x: Tensor,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: int | None = None,
    dtype: Any = "int64",
    name: str | None = None,
) -> Any:
    """The first element (or slice along an axis) of each run of equal ones; also the run of each, and its length."""
    values, run, lengths = runs(_arguments.tensor(x, "unique_consecutive", "x"), axis, "unique_consecutive")
    return _chosen((values, ops.reshape(run, [-1]), lengths), (return_inverse, return_counts), dtype)


def _chosen(found: Sequence[Tensor], wanted: Sequence[bool], dtype: Any) -> Any:
    values, *others = found
    more = [ops.cast(x, dtype) for x, is_wanted in zip(others, wanted, strict=True) if is_wanted]
    return (values, *more) if more else values


# Histograms


def _range(x: Tensor, low: float, high: float, function: str) -> tuple[float, float]:
    """The bounds of a histogram: those of the elements if both are 0."""
    if high < low:
        raise ArgumentError(f"{function}: max must be larger than min, got {low} and {high}")
    if low == high == 0 and x.numel():
        low, high = ops.min(x).item(), ops.max(x).item()
    return (low - 0.5, high + 0.5) if low == high else (low, high)


def histogram(
    input: Tensor,
    bins: int = 100,
    min: float = 0,
    max: float = 0,
    weight: Tensor | None = None,
    density: bool = False,
    name: str | None = None,
) -> Tensor:
    """How many elements (int64) lie in each of ``bins`` equal parts from ``min`` to ``max``.

    If both bounds are 0 they are those of the elements. With weights, or as a ``density``, the result is float32.
    """
    x = _arguments.tensor(input, "histogram", "input").detach()
    low, high = _range(x, min, max, "histogram")
    found = ops.histogram(x, bins, low, high, weight, density)[0]
    return ops.cast(found, "int64" if weight is None and not density else "float32")


def histogram_bin_edges(
    input: Tensor, bins: int = 100, min: float = 0, max: float = 0, name: str | None = None
) -> Tensor:
    """The ends of the parts of :func:`histogram`, float32."""
    low, high = _range(_arguments.tensor(input, "histogram_bin_edges", "input"), min, max, "histogram_bin_edges")
    return ops.linspace(low, high, _arguments.integer(bins, "histogram_bin_edges", "bins") + 1, "float32")


def histogramdd(
    x: Tensor,
    bins: Any = 10,
    ranges: Sequence[float] | None = None,
    density: bool = False,
    weights: Tensor | None = None,
    name: str | None = None,
) -> tuple[Tensor, list[Tensor]]:
    """How many points (the rows of ``x``) lie in each cell of a grid, and the ends of its parts along each axis.

    ``bins`` is a number of parts, one for each axis, or a list of tensors with their ends. ``ranges`` has the lowest
    and the highest end of each axis, one after the other.
    """
    return histograms.of_points(x, bins, ranges, density, weights)
