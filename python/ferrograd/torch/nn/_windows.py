"""Pools and normalisations with PyTorch's arguments. Its convolutions are the core's."""

from __future__ import annotations

import math
from typing import Any

from ferrograd import _arguments
from ferrograd._core import ArgumentError, Tensor
from ferrograd._core import torch as ops
from ferrograd._dialects.normalization import normalize

__all__ = [
    "adaptive_avg_pool1d",
    "adaptive_avg_pool2d",
    "adaptive_avg_pool3d",
    "adaptive_max_pool1d",
    "adaptive_max_pool2d",
    "adaptive_max_pool3d",
    "batch_norm",
    "instance_norm",
    "lp_pool1d",
    "lp_pool2d",
    "lp_pool3d",
    "max_pool1d",
    "max_pool2d",
    "max_pool3d",
]


def _pool(name: str, return_indices: bool) -> Any:
    return getattr(ops, f"{name}_with_indices" if return_indices else name)


def max_pool1d(
    input: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """The largest element of each window of sequences, with its position if that is asked for."""
    return _pool("max_pool1d", return_indices)(input, kernel_size, stride, padding, dilation, ceil_mode)


def max_pool2d(
    input: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """The largest pixel of each window of images, with its position if that is asked for."""
    return _pool("max_pool2d", return_indices)(input, kernel_size, stride, padding, dilation, ceil_mode)


def max_pool3d(
    input: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """The largest element of each window of volumes, with its position if that is asked for."""
    return _pool("max_pool3d", return_indices)(input, kernel_size, stride, padding, dilation, ceil_mode)


def _sizes(input: Tensor, output_size: Any, axes: int, function: str) -> Any:
    return _arguments.sizes(_arguments.tensor(input, function, "input").shape[-axes:], output_size)


def adaptive_avg_pool1d(input: Tensor, output_size: Any) -> Tensor:
    """The means of so many even shares of sequences."""
    return ops.adaptive_avg_pool1d(input, output_size)


def adaptive_avg_pool2d(input: Tensor, output_size: Any) -> Tensor:
    """The means of so many even shares of images; None stands for the size of the input."""
    return ops.adaptive_avg_pool2d(input, _sizes(input, output_size, 2, "adaptive_avg_pool2d"))


def adaptive_avg_pool3d(input: Tensor, output_size: Any) -> Tensor:
    """The means of so many even shares of volumes; None stands for the size of the input."""
    return ops.adaptive_avg_pool3d(input, _sizes(input, output_size, 3, "adaptive_avg_pool3d"))


def adaptive_max_pool1d(input: Tensor, output_size: Any, return_indices: bool = False) -> Any:
    """The largest elements of so many even shares of sequences, with their positions if these are asked for."""
    return _pool("adaptive_max_pool1d", return_indices)(input, output_size)


def adaptive_max_pool2d(input: Tensor, output_size: Any, return_indices: bool = False) -> Any:
    """The largest pixels of so many even shares of images, with their positions if these are asked for."""
    return _pool("adaptive_max_pool2d", return_indices)(input, _sizes(input, output_size, 2, "adaptive_max_pool2d"))


def adaptive_max_pool3d(input: Tensor, output_size: Any, return_indices: bool = False) -> Any:
    """The largest elements of so many even shares of volumes, with their positions if these are asked for."""
    return _pool("adaptive_max_pool3d", return_indices)(input, _sizes(input, output_size, 3, "adaptive_max_pool3d"))


def _lp(pool: Any, input: Tensor, norm_type: float, kernel_size: Any, stride: Any, ceil_mode: bool) -> Tensor:
    sums = pool(ops.pow(input, norm_type), kernel_size, stride, 0, ceil_mode, True, 1.0)
    return ops.pow(sums, 1.0 / norm_type)


def lp_pool1d(input: Tensor, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False) -> Tensor:
    """The root of the sum of powers of each window of sequences."""
    return _lp(ops.avg_pool1d, input, norm_type, kernel_size, stride, ceil_mode)


def lp_pool2d(input: Tensor, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False) -> Tensor:
    """The root of the sum of powers of each window of images."""
    return _lp(ops.avg_pool2d, input, norm_type, kernel_size, stride, ceil_mode)


def lp_pool3d(input: Tensor, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False) -> Tensor:
    """The root of the sum of powers of each window of volumes."""
    return _lp(ops.avg_pool3d, input, norm_type, kernel_size, stride, ceil_mode)


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
    """``input`` with mean 0 and variance 1 in each channel (axis 1), then scaled and shifted.

    In training these are the mean and the variance of the batch, and the running ones move towards them (the variance
    without bias) by ``momentum``; otherwise they are the running ones.
    """
    shape = _arguments.tensor(input, "batch_norm", "input").shape
    if training and input.ndim >= 2 and math.prod(shape) == shape[1]:
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
    """``input`` with mean 0 and variance 1 in each channel of each member of the batch, then scaled and shifted.

    The running mean and variance move towards their averages over the batch by ``momentum``; without
    ``use_input_stats`` they are what is used.
    """
    shape = _arguments.tensor(input, "instance_norm", "input").shape
    if use_input_stats and input.ndim >= 2 and math.prod(shape) == shape[0] * shape[1]:
        raise ArgumentError(f"Expected more than 1 spatial element when training, got input size {shape}")
    running, scale = (running_mean, running_var), (weight, bias)
    return normalize(input, "instance_norm", running, scale, use_input_stats, momentum, eps, unbiased=True, batch=False)
