"""Batch and instance normalisation, which both dialects have with arguments of their own."""

from __future__ import annotations

import math

from ferrograd import _check
from ferrograd._core import ArgumentError, Tensor
from ferrograd._core import native as ops


def _columns(x: Tensor, function: str, **given: Tensor | None) -> list[Tensor | None]:
    """The tensors with an element for each channel of ``x``, as they broadcast with it."""
    channels = x.shape[1]
    for name, t in given.items():
        if t is not None and list(_check.tensor(t, function, name).shape) != [channels]:
            raise ArgumentError(f"{function}: {name} has shape {list(t.shape)}, not [{channels}]")
    shape = [channels, *[1] * (x.ndim - 2)]
    return [None if t is None else ops.reshape(t, shape) for t in given.values()]


def _moved(running: Tensor | None, value: Tensor, share: float) -> None:
    """Moves a running average so much of the way to a value."""
    if running is not None:
        running.copy_(running * (1 - share) + ops.reshape(value.detach(), running.shape) * share)


def normalize(
    x: Tensor,
    function: str,
    running: tuple[Tensor | None, Tensor | None],
    scale: tuple[Tensor | None, Tensor | None],
    fresh: bool,
    share: float,
    eps: float,
    *,
    unbiased: bool,
    batch: bool,
) -> Tensor:
    """``(x - mean) / sqrt(variance + eps) * weight + bias`` by channel, which is axis 1.

    Mean and variance are those of each channel, over the ``batch`` too or of each of its members, if they are taken
    ``fresh``; the ``running`` ones then move towards them by a ``share``. Otherwise they are the running ones.
    """
    if _check.tensor(x, function, "input").ndim < 2:
        raise ArgumentError(f"{function}: [batch, channels, ...] is needed, not {list(x.shape)}")
    columns = _columns(x, function, running_mean=running[0], running_var=running[1], weight=scale[0], bias=scale[1])
    mean, variance, weight, bias = columns
    if fresh:
        axes = [*([0] if batch else []), *range(2, x.ndim)]
        mean = ops.mean(x, axes, True)
        centred = ops.subtract(x, mean)
        variance = ops.mean(ops.square(centred), axes, True)
        count = math.prod(x.shape) // max(math.prod(mean.shape), 1)
        wide = count / (count - 1) if unbiased and count > 1 else 1.0
        _moved(running[0], ops.mean(mean, 0, True), share)
        _moved(running[1], ops.mean(variance, 0, True) * wide, share)
    elif mean is None or variance is None:
        raise ArgumentError(f"{function}: running_mean and running_var are needed where none are taken from the batch")
    else:
        centred = ops.subtract(x, mean)
    factor = ops.rsqrt(ops.add(variance, eps))
    y = ops.multiply(centred, factor if weight is None else ops.multiply(factor, weight))
    return y if bias is None else ops.add(y, bias)
