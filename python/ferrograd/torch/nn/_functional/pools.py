"""Pools and normalizations with PyTorch's arguments. The convolutions are the core's."""

from __future__ import annotations

import math
from typing import Any

from ferrograd._core import ArgumentError
from ferrograd._functions.norms import normalize
from ferrograd._kit import arguments as _arguments
from ferrograd._kit.ops import ops
from ferrograd._kit.specialize import DIMENSIONS, Dimension, for_dimension
from ferrograd.torch._tensor import Tensor

__all__ = [
    "adaptive_avg_pool1d",
    "adaptive_avg_pool2d",
    "adaptive_avg_pool3d",
    "adaptive_max_pool1d",
    "adaptive_max_pool1d_with_indices",
    "adaptive_max_pool2d",
    "adaptive_max_pool2d_with_indices",
    "adaptive_max_pool3d",
    "adaptive_max_pool3d_with_indices",
    "avg_pool1d",
    "avg_pool2d",
    "avg_pool3d",
    "batch_norm",
    "conv_tbc",
    "instance_norm",
    "lp_pool1d",
    "lp_pool2d",
    "lp_pool3d",
    "max_pool1d",
    "max_pool1d_with_indices",
    "max_pool2d",
    "max_pool2d_with_indices",
    "max_pool3d",
    "max_pool3d_with_indices",
]


def _pool(name: str, return_indices: bool) -> Any:
    return getattr(ops, f"{name}_with_indices" if return_indices else name)


def _max_pool(
    input: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
    *,
    _dimension: Dimension = DIMENSIONS[1],
) -> Any:
    """The largest element of each window of {items}. With ``return_indices`` also its flat position."""
    function = f"max_pool{_dimension.ndim}d"
    _arguments.images(function, _arguments.tensor(input, function, "input"), _dimension.ndim + 1)
    pool = _pool(function, return_indices)
    return pool(input, kernel_size, stride, padding, dilation, ceil_mode)


max_pool1d = for_dimension("max_pool{ndim}d", 1, _max_pool)
max_pool2d = for_dimension("max_pool{ndim}d", 2, _max_pool)
max_pool3d = for_dimension("max_pool{ndim}d", 3, _max_pool)


def _max_pool_with_indices(
    input: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
    *,
    _dimension: Dimension = DIMENSIONS[1],
) -> tuple[Tensor, Tensor]:
    """The results of ``max_pool{ndim}d`` with indices, whatever ``return_indices`` is."""
    found: tuple[Tensor, Tensor] = _max_pool(
        input, kernel_size, stride, padding, dilation, ceil_mode, True, _dimension=_dimension
    )
    return found


max_pool1d_with_indices = for_dimension("max_pool{ndim}d_with_indices", 1, _max_pool_with_indices)
max_pool2d_with_indices = for_dimension("max_pool{ndim}d_with_indices", 2, _max_pool_with_indices)
max_pool3d_with_indices = for_dimension("max_pool{ndim}d_with_indices", 3, _max_pool_with_indices)


def _sizes(input: Tensor, output_size: Any, axes: int, function: str) -> Any:
    """The output size, where None is the input's size. One-dimensional pools take it as it is."""
    if axes == 1:
        return output_size
    return _arguments.output_sizes(_arguments.tensor(input, function, "input").shape[-axes:], output_size)


def _adaptive_avg_pool(
    input: Tensor,
    output_size: Any,
    *,
    _dimension: Dimension = DIMENSIONS[1],
) -> Tensor:
    """The means over ``output_size`` nearly equal parts of {items}; of several sizes, None is the input's."""
    function = f"adaptive_avg_pool{_dimension.ndim}d"
    if _dimension.ndim == 3:
        # Means of images and sequences may be of no channels, as in PyTorch.
        _arguments.no_empty_axes(function, _arguments.tensor(input, function, "input"))
    result: Tensor = getattr(ops, function)(input, _sizes(input, output_size, _dimension.ndim, function))
    return result


adaptive_avg_pool1d = for_dimension("adaptive_avg_pool{ndim}d", 1, _adaptive_avg_pool)
adaptive_avg_pool2d = for_dimension("adaptive_avg_pool{ndim}d", 2, _adaptive_avg_pool)
adaptive_avg_pool3d = for_dimension("adaptive_avg_pool{ndim}d", 3, _adaptive_avg_pool)


def _adaptive_max_pool(
    input: Tensor,
    output_size: Any,
    return_indices: bool = False,
    *,
    _dimension: Dimension = DIMENSIONS[1],
) -> Any:
    """The largest elements of ``output_size`` nearly equal parts of {items}; of several sizes, None is the input's.

    With ``return_indices`` also their flat positions in the channel.
    """
    function = f"adaptive_max_pool{_dimension.ndim}d"
    _arguments.no_empty_axes(function, _arguments.tensor(input, function, "input"))
    return _pool(function, return_indices)(input, _sizes(input, output_size, _dimension.ndim, function))


adaptive_max_pool1d = for_dimension("adaptive_max_pool{ndim}d", 1, _adaptive_max_pool)
adaptive_max_pool2d = for_dimension("adaptive_max_pool{ndim}d", 2, _adaptive_max_pool)
adaptive_max_pool3d = for_dimension("adaptive_max_pool{ndim}d", 3, _adaptive_max_pool)


def _adaptive_max_pool_with_indices(
    input: Tensor,
    output_size: Any,
    return_indices: bool = False,
    *,
    _dimension: Dimension = DIMENSIONS[1],
) -> tuple[Tensor, Tensor]:
    """The results of ``adaptive_max_pool{ndim}d`` with indices, whatever ``return_indices`` is."""
    found: tuple[Tensor, Tensor] = _adaptive_max_pool(input, output_size, True, _dimension=_dimension)
    return found


_ADAPTIVE = "adaptive_max_pool{ndim}d_with_indices"
adaptive_max_pool1d_with_indices = for_dimension(_ADAPTIVE, 1, _adaptive_max_pool_with_indices)
adaptive_max_pool2d_with_indices = for_dimension(_ADAPTIVE, 2, _adaptive_max_pool_with_indices)
adaptive_max_pool3d_with_indices = for_dimension(_ADAPTIVE, 3, _adaptive_max_pool_with_indices)


def conv_tbc(input: Tensor, weight: Tensor, bias: Tensor, pad: int = 0) -> Tensor:
    """A convolution along the first axis of [time, batch, channels] with a weight [size, channels, outputs]."""
    x = ops.permute(_arguments.tensor(input, "conv_tbc", "input"), [1, 2, 0])
    kernel = ops.permute(_arguments.tensor(weight, "conv_tbc", "weight"), [2, 1, 0])
    return ops.permute(ops.conv1d(x, kernel, bias, padding=pad), [2, 0, 1])


_INT64: Any = ops.zeros([], "int64").dtype


def _avg_pool(
    input: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: float | None = None,
    *,
    _dimension: Dimension = DIMENSIONS[1],
) -> Tensor:
    """The mean of each window of {items}; that of int64 is rounded towards 0."""
    function = f"avg_pool{_dimension.ndim}d"
    _arguments.images(function, _arguments.tensor(input, function, "input"), _dimension.ndim + 1)
    is_whole = input.dtype is _INT64
    x = ops.cast(input, "float64") if is_whole else input
    pool = getattr(ops, function)
    found: Tensor = pool(x, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)
    return ops.cast(found, "int64") if is_whole else found


avg_pool1d = for_dimension("avg_pool{ndim}d", 1, _avg_pool)
avg_pool2d = for_dimension("avg_pool{ndim}d", 2, _avg_pool)
avg_pool3d = for_dimension("avg_pool{ndim}d", 3, _avg_pool)


def _lp_pool(
    input: Tensor,
    norm_type: float,
    kernel_size: Any,
    stride: Any = None,
    ceil_mode: bool = False,
    *,
    _dimension: Dimension = DIMENSIONS[1],
) -> Tensor:
    """``sum(x ** norm_type) ** (1 / norm_type)`` over each window of {items}: the largest element for inf, the smallest
    for -inf.
    """
    function = f"lp_pool{_dimension.ndim}d"
    _arguments.images(function, _arguments.tensor(input, function, "input"), _dimension.ndim + 1)
    if norm_type == 0:
        raise ArgumentError(f"{function}: norm_type must be a non-zero value, but got {norm_type}")
    if math.isinf(norm_type):
        sign = math.copysign(1.0, norm_type)
        largest = getattr(ops, f"max_pool{_dimension.ndim}d")(input * sign, kernel_size, stride, 0, 1, ceil_mode)
        return ops.multiply(largest, sign)
    pool = getattr(ops, f"avg_pool{_dimension.ndim}d")
    sums = pool(ops.pow(input, norm_type), kernel_size, stride, 0, ceil_mode, True, 1.0)
    return ops.pow(sums, 1.0 / norm_type)


lp_pool1d = for_dimension("lp_pool{ndim}d", 1, _lp_pool)
lp_pool2d = for_dimension("lp_pool{ndim}d", 2, _lp_pool)
lp_pool3d = for_dimension("lp_pool{ndim}d", 3, _lp_pool)


def batch_norm(
    input: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-05,
) -> Tensor:
    """Normalizes each channel (axis 1) to mean 0 and variance 1, then scales by ``weight`` and shifts by ``bias``.

    In training the statistics are those of the batch, and the running ones are updated with share ``momentum``, the
    variance with the unbiased estimate. Otherwise the running statistics are used.
    """
    if training and eps <= 0:
        raise ArgumentError(f"batch_norm: eps must be positive during training, but got {eps}")
    return batch_norm_of_any_eps(input, running_mean, running_var, weight, bias, training, momentum, eps)


def batch_norm_of_any_eps(
    input: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None,
    bias: Tensor | None,
    training: bool,
    momentum: float,
    eps: float,
) -> Tensor:
    """:func:`batch_norm` that takes an ``eps`` which is not positive, as PyTorch's functions of its root do."""
    shape = _arguments.tensor(input, "batch_norm", "input").shape
    if tuple(shape) == (0,):
        # An empty vector is an empty batch of no channels.
        empty = ops.reshape(input, [0, 0])
        found = batch_norm_of_any_eps(empty, running_mean, running_var, weight, bias, training, momentum, eps)
        return ops.reshape(found, [0])
    if training and input.ndim >= 2 and math.prod([shape[0], *shape[2:]]) == 1:
        raise ArgumentError(f"Expected more than 1 value per channel when training, got input size {shape}")
    running, scale = (running_mean, running_var), (weight, bias)
    return normalize(input, "batch_norm", running, scale, training, momentum, eps, unbiased=True, batch=True)


def instance_norm(
    input: Tensor,
    running_mean: Tensor | None = None,
    running_var: Tensor | None = None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    use_input_stats: bool = True,
    momentum: float = 0.1,
    eps: float = 1e-05,
) -> Tensor:
    """Normalizes each channel of each example to mean 0 and variance 1, then scales and shifts.

    The running statistics are updated with the averages over the batch, with share ``momentum``. Without
    ``use_input_stats`` they are used instead.
    """
    shape = _arguments.tensor(input, "instance_norm", "input").shape
    if use_input_stats and input.ndim >= 2 and math.prod(shape[2:]) == 1:
        raise ArgumentError(f"Expected more than 1 spatial element when training, got input size {shape}")
    running, scale = (running_mean, running_var), (weight, bias)
    found = normalize(
        input, "instance_norm", running, scale, use_input_stats, momentum, eps, unbiased=True, batch=False
    )
    return found.contiguous()
