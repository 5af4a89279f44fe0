"""Convolutions and pools with Paddle's arguments: formats with the channels last, and padding on one side."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ferrograd import _check
from ferrograd._core import ArgumentError, Tensor
from ferrograd._core import paddle as ops

__all__ = ["channels_last", "conv1d", "conv2d", "max_pool2d"]


def channels_last(data_format: Any, function: str) -> bool:
    """Whether the format, like NCHW or NHWC, names the channels last."""
    if not isinstance(data_format, str):
        raise ArgumentError(f"{function}: data_format must be a str, not {type(data_format).__name__}")
    return data_format.endswith("C")


def _channels_first(x: Tensor, data_format: Any, function: str, f: Callable[[Tensor], Tensor]) -> Tensor:
    """What ``f``, which wants the channels first, makes of ``x``; in the format of ``x``."""
    x = _check.tensor(x, function, "x")
    if not channels_last(data_format, function) or x.ndim < 3:
        return f(x)
    return ops.moveaxis(f(ops.moveaxis(x, -1, 1)), 1, -1)


def _padded(x: Tensor, padding: Any, count: int, function: str) -> tuple[Tensor, Any]:
    """The tensor, and the padding of its last ``count`` axes as the core takes it.

    Words are in capitals in Paddle. Padding that differs before and after an axis is done here: a number for each side,
    or a pair for each axis of ``x``.
    """
    if isinstance(padding, str):
        return x, padding.lower()
    if not isinstance(padding, list | tuple):
        return x, padding
    if len(padding) == x.ndim and all(isinstance(p, list | tuple) for p in padding):
        pairs = [p for both in padding for p in _check.pairs(both, function, "padding")]
        if len(pairs) != x.ndim:
            raise ArgumentError(f"{function}: padding must have a pair for each axis")
        pairs = pairs[-count:]
    elif len(padding) == 2 * count:
        pairs = _check.pairs(padding, function, "padding")
    else:
        return x, padding
    if all(before == after for before, after in pairs):
        return x, [before for before, _ in pairs]
    return ops.pad(x, [(0, 0)] * (x.ndim - count) + pairs, "constant", 0.0), 0


def conv2d(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
    data_format: str = "NCHW",
    name: str | None = None,
) -> Tensor:
    """Each window of an image times each filter. The weight is [filters, channels / groups, height, width]."""

    def run(x: Tensor) -> Tensor:
        x, pads = _padded(x, padding, 2, "conv2d")
        return ops.conv2d(x, weight, bias, stride, pads, dilation, groups)

    return _channels_first(x, data_format, "conv2d", run)


def conv1d(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
    data_format: str = "NCL",
    name: str | None = None,
) -> Tensor:
    """Each window of a sequence times each filter. The weight is [filters, channels / groups, length]."""

    def run(x: Tensor) -> Tensor:
        x, pads = _padded(x, padding, 1, "conv1d")
        return ops.conv1d(x, weight, bias, stride, pads, dilation, groups)

    return _channels_first(x, data_format, "conv1d", run)


def max_pool2d(
    x: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    return_mask: bool = False,
    ceil_mode: bool = False,
    data_format: str = "NCHW",
    name: str | None = None,
) -> Tensor:
    """The largest pixel of each window of images. Where it stands is not told."""
    if return_mask:
        raise ArgumentError("max_pool2d: return_mask is not supported")
    return _channels_first(
        x, data_format, "max_pool2d", lambda x: ops.max_pool2d(x, kernel_size, stride, padding, 1, ceil_mode)
    )
