"""Pools and normalizations with Paddle's arguments."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ferrograd._core import ArgumentError, ShapeError, paddle as ops
from ferrograd._functions.norms import normalize
from ferrograd._functions.pools import largest, max_unpool
from ferrograd._kit import arguments as _arguments
from ferrograd._kit.specialize import DIMENSIONS, Dimension, for_dimension
from ferrograd.paddle._tensor import Tensor
from ferrograd.paddle.nn._functional.convolutions import channels_first, channels_last, each, padded, pads_of

__all__ = [
    "adaptive_avg_pool1d",
    "adaptive_avg_pool2d",
    "adaptive_avg_pool3d",
    "adaptive_max_pool1d",
    "adaptive_max_pool2d",
    "adaptive_max_pool3d",
    "avg_pool1d",
    "avg_pool2d",
    "avg_pool3d",
    "batch_norm",
    "fractional_max_pool2d",
    "fractional_max_pool3d",
    "instance_norm",
    "lp_pool1d",
    "lp_pool2d",
    "max_pool1d",
    "max_pool2d",
    "max_pool3d",
    "max_unpool1d",
    "max_unpool2d",
    "max_unpool3d",
]


def _max(function: str, count: int, x: Tensor, data_format: Any, *rest: Any) -> Any:
    kernel_size, stride, padding, return_mask, ceil_mode = rest

    def run(x: Tensor) -> Any:
        window = each(kernel_size, count, function, "kernel_size")
        steps = window if stride is None else each(stride, count, function, "stride")
        pairs = pads_of(x, padding, window, steps, data_format, function)
        if not return_mask:
            x, pads = padded(x, pairs, -float("inf"))
            return getattr(ops, function)(x, window, steps, pads, 1, ceil_mode)
        if any(before != after for before, after in pairs):
            raise ArgumentError(f"{function}: return_mask needs the same padding on both sides")
        pads = [before for before, _ in pairs]
        y, positions = getattr(ops, f"{function}_with_indices")(x, window, steps, pads, 1, ceil_mode)
        return y, ops.cast(positions, "int32")

    return channels_first(x, data_format, function, run, count + 2)


def _avg(function: str, count: int, x: Tensor, data_format: Any, *rest: Any) -> Tensor:
    kernel_size, stride, padding, exclusive, ceil_mode, divisor = rest

    def run(x: Tensor) -> Any:
        window = each(kernel_size, count, function, "kernel_size")
        steps = window if stride is None else each(stride, count, function, "stride")
        pairs = pads_of(x, padding, window, steps, data_format, function)
        (wide, pads), pool = padded(x, pairs), getattr(ops, function)
        if wide is x or divisor is not None or not exclusive:
            return pool(wide, window, steps, pads, ceil_mode, not exclusive, divisor)
        inside, _ = padded(ops.ones([1, 1, *x.shape[-count:]], x.dtype), pairs)
        return ops.divide(pool(wide, window, steps, pads, ceil_mode), pool(inside, window, steps, pads, ceil_mode))

    result: Tensor = channels_first(x, data_format, function, run, count + 2)
    return result


def _sizes(x: Tensor, output_size: Any, count: int, data_format: Any, function: str) -> Any:
    shape = _arguments.tensor(x, function, "x").shape
    own = shape[-1 - count : -1] if data_format != "NC" and channels_last(data_format, function) else shape[-count:]
    return _arguments.output_sizes(own, output_size)


def _fractional(axes: int, x: Tensor, output_size: Any, kernel_size: Any, random_u: Any, return_mask: bool) -> Any:
    """Windows of one size where there is ``kernel_size``, else windows that cover everything."""
    function = f"fractional_max_pool{axes}d"
    shape = _arguments.tensor(x, function, "x").shape
    if len(shape) != axes + 2:
        raise ShapeError(f"{function}: x has {axes + 2} axes, not the shape {list(shape)}")
    sizes = shape[-axes:]
    given = output_size if isinstance(output_size, list | tuple) else [output_size] * axes
    wanted = each([n if m is None else m for n, m in zip(sizes, given, strict=False)], axes, function, "output_size")
    kernel = [0] * axes if kernel_size is None else each(kernel_size, axes, function, "kernel_size")
    u = float(ops.rand([]).item()) if random_u is None else random_u
    if random_u is not None and not (isinstance(u, float) and 0 < u < 1):
        raise ArgumentError("The param `random_u` should be a `float` in (0, 1).")
    if any(m < 1 or k < 0 or m + max(k, 1) - 1 > n for n, m, k in zip(sizes, wanted, kernel, strict=True)):
        raise ArgumentError(f"{function}: {list(wanted)} windows of {kernel} do not fit into {list(sizes)}")
    single, along = np.float32, []
    for n, m, k in zip(sizes, wanted, kernel, strict=True):
        alpha = single(n - k) / single(max(m - 1, 1)) if k else single(n) / single(m)
        most = min(single(n // m + 2) / alpha - single(1), single(n + 1 - n // m) / alpha - single(m - 1))
        part = single(u) if k else single(u) * most
        places = np.floor((np.arange(m + 1, dtype=single) + part) * alpha).astype(np.int64) - int(part * alpha)
        starts, stops = places[:-1], places[:-1] + k if k else places[1:]
        stops = np.minimum(stops, n)[:, None]
        # A window that is shorter than others repeats its last element.
        taken = np.minimum(starts[:, None] + np.arange(int((stops[:, 0] - starts).max())), stops - 1)
        along.append(taken[None, None])
    values, positions = largest(x, along)
    return (values, ops.cast(positions, "int32")) if return_mask else values


def fractional_max_pool2d(
    x: Tensor,
    output_size: Any,
    kernel_size: Any = None,
    random_u: float | None = None,
    return_mask: bool = False,
    name: Any = None,
) -> Any:
    """The largest element of each of ``output_size`` windows of images, whose places come from a random number.

    The number is ``random_u``, between 0 and 1, or drawn. With ``return_mask`` also the flat positions.
    """
    return _fractional(2, x, output_size, kernel_size, random_u, return_mask)


def fractional_max_pool3d(
    x: Tensor,
    output_size: Any,
    kernel_size: Any = None,
    random_u: float | None = None,
    return_mask: bool = False,
    name: Any = None,
) -> Any:
    """The largest element of each of ``output_size`` windows of volumes: see :func:`fractional_max_pool2d`."""
    return _fractional(3, x, output_size, kernel_size, random_u, return_mask)


def max_pool1d(
    x: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    return_mask: bool = False,
    ceil_mode: bool = False,
    name: str | None = None,
) -> Any:
    """The largest element of each window of sequences. With ``return_mask`` also its position, int32."""
    rest = (kernel_size, stride, padding, return_mask, ceil_mode)
    return _max("max_pool1d", 1, x, "NCL", *rest)


def _max_pool(
    x: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    return_mask: bool = False,
    ceil_mode: bool = False,
    data_format: str = "NCHW",
    name: str | None = None,
    *,
    _dimension: Dimension = DIMENSIONS[1],
) -> Any:
    """The largest element of each window of {items}. With ``return_mask`` also its flat position, int32."""
    rest = (kernel_size, stride, padding, return_mask, ceil_mode)
    return _max(f"max_pool{_dimension.ndim}d", _dimension.ndim, x, data_format, *rest)


max_pool2d = for_dimension("max_pool{ndim}d", 2, _max_pool)
max_pool3d = for_dimension("max_pool{ndim}d", 3, _max_pool)


def avg_pool1d(
    x: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    exclusive: bool = True,
    ceil_mode: bool = False,
    name: str | None = None,
) -> Tensor:
    """The mean of each window of sequences. With ``exclusive`` the padding does not count as elements."""
    return _avg("avg_pool1d", 1, x, "NCL", kernel_size, stride, padding, exclusive, ceil_mode, None)


def _avg_pool(
    x: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    ceil_mode: bool = False,
    exclusive: bool = True,
    divisor_override: float | None = None,
    data_format: str = "NCHW",
    name: str | None = None,
    *,
    _dimension: Dimension = DIMENSIONS[1],
) -> Tensor:
    """The mean of each window of {items}. With ``exclusive`` the padding does not count as elements.

    With ``divisor_override`` the sum of each window is divided by that number.
    """
    rest = (kernel_size, stride, padding, exclusive, ceil_mode, divisor_override)
    return _avg(f"avg_pool{_dimension.ndim}d", _dimension.ndim, x, data_format, *rest)


avg_pool2d = for_dimension("avg_pool{ndim}d", 2, _avg_pool)
avg_pool3d = for_dimension("avg_pool{ndim}d", 3, _avg_pool)


def _lp_pool(
    x: Tensor,
    norm_type: float,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    ceil_mode: bool = False,
    data_format: str = "NCHW",
    name: str | None = None,
    *,
    _dimension: Dimension = DIMENSIONS[1],
) -> Tensor:
    """``sum(x ** norm_type) ** (1 / norm_type)`` over each window of {items}: the largest element for inf, the smallest
    for -inf.
    """
    if norm_type == 0:
        raise ArgumentError("lp_pool: norm_type must not be 0")
    if math.isinf(norm_type):
        sign = math.copysign(1.0, norm_type)
        window = (kernel_size, stride, padding, False, ceil_mode)
        return _max(f"max_pool{_dimension.ndim}d", _dimension.ndim, x * sign, data_format, *window) * sign
    rest = (kernel_size, stride, padding, False, ceil_mode, 1.0)
    sums = _avg(f"avg_pool{_dimension.ndim}d", _dimension.ndim, ops.pow(x, norm_type), data_format, *rest)
    return ops.pow(sums, 1.0 / norm_type)


lp_pool1d = for_dimension("lp_pool{ndim}d", 1, _lp_pool)
lp_pool2d = for_dimension("lp_pool{ndim}d", 2, _lp_pool)


def _max_unpool(
    x: Tensor,
    indices: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    data_format: str = "NCHW",
    output_size: Any = None,
    name: str | None = None,
    *,
    _dimension: Dimension = DIMENSIONS[1],
) -> Tensor:
    """{items} in which the maxima of windows are at their old positions, and zeros elsewhere."""
    function = f"max_unpool{_dimension.ndim}d"
    if channels_last(data_format, function, _dimension.ndim + 2):
        raise ArgumentError(f"{function}: the channels come first, not {data_format!r}")
    places = ops.cast(_arguments.tensor(indices, function, "indices"), "int64")
    return max_unpool(x, places, kernel_size, stride, padding, output_size, _dimension.ndim)


max_unpool1d = for_dimension("max_unpool{ndim}d", 1, _max_unpool)
max_unpool2d = for_dimension("max_unpool{ndim}d", 2, _max_unpool)
max_unpool3d = for_dimension("max_unpool{ndim}d", 3, _max_unpool)


def adaptive_avg_pool1d(x: Tensor, output_size: Any, name: str | None = None) -> Tensor:
    """The means over ``output_size`` nearly equal parts of sequences."""
    return ops.adaptive_avg_pool1d(x, output_size)


def _adaptive_avg_pool(
    x: Tensor,
    output_size: Any,
    data_format: str = "NCHW",
    name: str | None = None,
    *,
    _dimension: Dimension = DIMENSIONS[1],
) -> Tensor:
    """The means over ``output_size`` nearly equal parts of {items}. A size of None is that of the input."""
    function = f"adaptive_avg_pool{_dimension.ndim}d"
    sizes, axes = _sizes(x, output_size, _dimension.ndim, data_format, function), _dimension.ndim + 2
    result: Tensor = channels_first(x, data_format, function, lambda x: getattr(ops, function)(x, sizes), axes)
    return result


adaptive_avg_pool2d = for_dimension("adaptive_avg_pool{ndim}d", 2, _adaptive_avg_pool)
adaptive_avg_pool3d = for_dimension("adaptive_avg_pool{ndim}d", 3, _adaptive_avg_pool)


def _adaptive_max_pool(
    x: Tensor,
    output_size: Any,
    return_mask: bool = False,
    name: str | None = None,
    *,
    _dimension: Dimension = DIMENSIONS[1],
) -> Any:
    """The largest elements of ``output_size`` nearly equal parts of {items}. A size of None is that of the input.

    With ``return_mask`` also their flat positions in the channel, int32.
    """
    function = f"adaptive_max_pool{_dimension.ndim}d"
    sizes = _sizes(x, output_size, _dimension.ndim, "NC", function)
    if not return_mask:
        return getattr(ops, function)(x, sizes)
    y, positions = getattr(ops, f"{function}_with_indices")(x, sizes)
    return y, ops.cast(positions, "int32")


adaptive_max_pool1d = for_dimension("adaptive_max_pool{ndim}d", 1, _adaptive_max_pool)
adaptive_max_pool2d = for_dimension("adaptive_max_pool{ndim}d", 2, _adaptive_max_pool)
adaptive_max_pool3d = for_dimension("adaptive_max_pool{ndim}d", 3, _adaptive_max_pool)


def takes_batch(training: bool, use_global_stats: bool | None) -> bool:
    """Whether a batch normalization takes the statistics of the batch, not the running ones."""
    return training if use_global_stats is None else not use_global_stats


def batch_norm(
    x: Tensor,
    running_mean: Tensor,
    running_var: Tensor,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    training: bool = False,
    momentum: float = 0.9,
    epsilon: float = 1e-05,
    data_format: str = "NCHW",
    use_global_stats: bool | None = None,
    name: str | None = None,
) -> Tensor:
    """Normalizes each channel to mean 0 and variance 1, then scales by ``weight`` and shifts by ``bias``.

    In training the statistics are those of the batch, and the running ones are updated with share ``1 - momentum``.
    Otherwise the running statistics are used. ``use_global_stats`` says which in both cases.
    """
    fresh = takes_batch(training, use_global_stats)
    running, scale = (running_mean, running_var), (weight, bias)

    def run(x: Tensor) -> Tensor:
        return normalize(x, "batch_norm", running, scale, fresh, 1 - momentum, epsilon, unbiased=False, batch=True)

    result: Tensor = channels_first(x, data_format, "batch_norm", run)
    return result


def instance_norm(
    x: Tensor,
    running_mean: Tensor | None = None,
    running_var: Tensor | None = None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    use_input_stats: bool = True,
    momentum: float = 0.9,
    eps: float = 1e-05,
    data_format: str = "NCHW",
    name: str | None = None,
) -> Tensor:
    """Normalizes each channel of each example to mean 0 and variance 1, then scales and shifts.

    As in Paddle, the running statistics are neither used nor updated.
    """
    scale = (weight, bias)

    def run(x: Tensor) -> Tensor:
        return normalize(x, "instance_norm", (None, None), scale, True, 0.0, eps, unbiased=False, batch=False)

    result: Tensor = channels_first(x, data_format, "instance_norm", run)
    return result
