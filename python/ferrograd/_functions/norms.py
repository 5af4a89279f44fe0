"""Batch and instance normalization with running statistics, shared by the dialects."""

from __future__ import annotations

import math
from typing import Any

from ferrograd._autograd.modes import own_writes
from ferrograd._core import ArgumentError, Tensor, native as ops
from ferrograd._kit import arguments as _arguments


def in_dtype_of(x: Tensor, result: Any) -> Any:
    """The result of a normalization of ``x`` in its dtype, which weights of another dtype do not change."""
    return result if result.dtype is x.dtype or x.dtype.kind not in "fV" else ops.astype(result, x.dtype)


def _check_channels(x: Tensor, function: str, **given: Tensor | None) -> None:
    """Raises unless each tensor is None or a vector with one element per channel of ``x``."""
    channels = x.shape[1]
    for name, t in given.items():
        if t is not None and list(_arguments.tensor(t, function, name).shape) != [channels]:
            raise ArgumentError(
                f"{function}: the input {list(x.shape)} has {channels} channels in axis 1, and {name} is of the shape "
                f"{list(t.shape)}, which is the number of channels (num_features) of the layer"
            )


def _update_average(running: Tensor | None, value: Tensor, share: float | Tensor) -> None:
    """Updates a running average in place: ``running * (1 - share) + value * share``."""
    if running is None:
        return
    kept: Any = 1 - share
    if isinstance(share, Tensor):
        # They are rounded as numbers are.
        kept, share = ops.cast(kept, running.dtype), ops.cast(share, value.dtype)
    with own_writes(running):
        running.copy_(running * kept + value * share)


def normalize(
    x: Tensor,
    function: str,
    running: tuple[Tensor | None, Tensor | None],
    scale: tuple[Tensor | None, Tensor | None],
    fresh: bool,
    share: float | Tensor,
    eps: float,
    *,
    unbiased: bool,
    batch: bool,
) -> Any:
    """``(x - mean) / sqrt(variance + eps) * weight + bias`` by channel, which is axis 1 of ``x``.

    With ``fresh`` the statistics are computed from ``x``: over the batch too (``batch``), or for each member of it. The
    ``running`` pair (mean, variance) is then updated in place by a ``share``, its variance from the ``unbiased``
    estimate if asked for. Without ``fresh`` the running pair is used. ``scale`` is (weight, bias).

    Raises:
        ArgumentError: ``x`` has less than two axes, or a vector does not have one element per channel.
    """
    if _arguments.tensor(x, function, "input").ndim < 2:
        raise ArgumentError(f"{function}: [batch, channels, ...] is needed, not {list(x.shape)}")
    _check_channels(x, function, running_mean=running[0], running_var=running[1], weight=scale[0], bias=scale[1])
    if fresh:
        return in_dtype_of(x, _fresh(x, running, scale, share, eps, unbiased=unbiased, batch=batch))
    column = [x.shape[1], *[1] * (x.ndim - 2)]
    mean, variance, weight, bias = (None if t is None else ops.reshape(t, column) for t in (*running, *scale))
    if mean is None or variance is None:
        raise ArgumentError(f"{function}: running_mean and running_var are needed where none are taken from the batch")
    factor = ops.rsqrt(ops.add(variance, eps))
    y = ops.multiply(ops.subtract(x, mean), factor if weight is None else ops.multiply(factor, weight))
    return in_dtype_of(x, y if bias is None else ops.add(y, bias))


def _fresh(
    x: Tensor,
    running: tuple[Tensor | None, Tensor | None],
    scale: tuple[Tensor | None, Tensor | None],
    share: float | Tensor,
    eps: float,
    *,
    unbiased: bool,
    batch: bool,
) -> Any:
    """Normalizes with the statistics of ``x`` and updates the running ones."""
    channels = x.shape[1]
    if batch:
        y, mean, variance = ops.batch_norm(x, *scale, eps)
    else:
        y = ops.group_norm(x, channels, *scale, eps)
        if running == (None, None):
            return y
        rows = ops.reshape(x.detach(), [*x.shape[:2], -1])
        mean, variance = ops.mean(ops.mean(rows, -1), 0), ops.mean(ops.var(rows, -1), 0)
    count = math.prod(x.shape) // max(channels if batch else channels * x.shape[0], 1)
    if not count:
        return y
    wide = count / (count - 1) if unbiased and count > 1 else 1.0
    _update_average(running[0], mean, share)
    _update_average(running[1], variance * wide, share)
    return y


def over_channels(x: Tensor, size: int, alpha: float, beta: float, k: float) -> Any:
    """``x / (k + alpha * mean)**beta`` with the mean of the squares of ``size`` channels around each."""
    shape = list(x.shape)
    squares = ops.reshape(ops.square(x), [shape[0], 1, shape[1], math.prod(shape[2:])])
    padded = ops.pad(squares, [(0, 0), (0, 0), (size // 2, (size - 1) // 2), (0, 0)])
    means = ops.reshape(ops.avg_pool2d(padded, [size, 1], 1), shape)
    return ops.divide(x, ops.pow(ops.add(ops.multiply(means, alpha), k), beta))
