"""``paddle.nn.functional``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ferrograd import _check
from ferrograd._core import ArgumentError, Tensor
from ferrograd._core import paddle as ops
from ferrograd._core.paddle import (
    conv2d,
    l1_loss,
    leaky_relu,
    max_pool2d,
    mse_loss,
    nll_loss,
    prelu,
    relu,
    sigmoid,
    silu,
    softplus,
    swish,
    tanh,
)

__all__ = [
    "conv2d",
    "cross_entropy",
    "dropout",
    "gelu",
    "l1_loss",
    "layer_norm",
    "leaky_relu",
    "linear",
    "log_softmax",
    "max_pool2d",
    "mse_loss",
    "nll_loss",
    "one_hot",
    "pad",
    "prelu",
    "relu",
    "sigmoid",
    "silu",
    "softmax",
    "softplus",
    "swish",
    "tanh",
]


def linear(x: Tensor, weight: Tensor, bias: Tensor | None = None, name: str | None = None) -> Tensor:
    """``x @ weight + bias``, with a weight of shape [in, out]."""
    return ops.linear(x, weight, bias, False)


def gelu(x: Tensor, approximate: bool = False, name: str | None = None) -> Tensor:
    """x times the standard normal distribution function of x, or its approximation by a tanh."""
    return ops.gelu(x, "tanh" if approximate else "none")


def dropout(
    x: Tensor,
    p: float = 0.5,
    axis: Any = None,
    training: bool = True,
    mode: str = "upscale_in_train",
    name: str | None = None,
) -> Tensor:
    """``x`` with elements put to zero with probability ``p``.

    The others are divided by ``1 - p`` in training, or with the mode ``downscale_in_infer`` all are multiplied by it
    outside of training. With ``axis`` whole slices are dropped: one draw serves all that lies off these axes.
    """
    if mode not in ("upscale_in_train", "downscale_in_infer"):
        raise ArgumentError(f"dropout: mode must be 'upscale_in_train' or 'downscale_in_infer', not {mode!r}")
    kept = 1.0 if mode == "upscale_in_train" else 1.0 - p
    if not training:
        return ops.multiply(x, kept)
    if axis is None:
        return ops.multiply(ops.dropout(x, p, True), kept)
    axes = [
        a % _check.tensor(x, "dropout", "x").ndim
        for a in _check.wholes([axis] if isinstance(axis, int) else axis, "dropout", "axis")
    ]
    shape = [n if i in axes else 1 for i, n in enumerate(x.shape)]
    return ops.multiply(x, ops.multiply(ops.dropout(ops.ones(shape, x.dtype), p, True), kept))


def layer_norm(
    x: Tensor,
    normalized_shape: Any,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    epsilon: float = 1e-05,
    name: str | None = None,
) -> Tensor:
    """``x`` with mean 0 and variance 1 over its last axes, then scaled and shifted."""
    return ops.layer_norm(x, normalized_shape, weight, bias, epsilon)


def softmax(x: Tensor, axis: int = -1, dtype: Any = None, name: str | None = None) -> Tensor:
    """The exponentials along an axis divided by their sum."""
    return ops.softmax(x if dtype is None else ops.cast(x, dtype), axis)


def log_softmax(x: Tensor, axis: int = -1, dtype: Any = None, name: str | None = None) -> Tensor:
    """The logarithm of the softmax along an axis."""
    return ops.log_softmax(x if dtype is None else ops.cast(x, dtype), axis)


def cross_entropy(
    input: Tensor,
    label: Tensor,
    weight: Tensor | None = None,
    ignore_index: int = -100,
    reduction: str = "mean",
    soft_label: bool = False,
    axis: int = -1,
    use_softmax: bool = True,
    label_smoothing: float = 0.0,
    name: str | None = None,
) -> Tensor:
    """The cross entropy between the softmax of ``input`` along an axis and labels.

    Labels are integers, whose shape lacks the axis or has size 1 there, or with ``soft_label`` probabilities. Without
    ``use_softmax`` the input holds probabilities already.
    """
    input, label = _check.tensor(input, "cross_entropy", "input"), _check.tensor(label, "cross_entropy", "label")
    kept = not soft_label and label.ndim == input.ndim
    if kept:
        label = ops.squeeze(label, axis)
    if use_softmax:
        loss = ops.cross_entropy(input, label, weight, ignore_index, reduction, label_smoothing, axis)
    else:
        loss = ops.nll_loss(ops.log(input), label, weight, ignore_index, reduction, axis)
    return ops.expand_dims(loss, axis) if kept and reduction == "none" else loss


def one_hot(x: Tensor, num_classes: int = -1, name: str | None = None) -> Tensor:
    """A float32 one at the place of each integer, zeros elsewhere, along a new last axis."""
    return ops.one_hot(x, num_classes, "float32")


def pad(
    x: Tensor,
    pad: Sequence[int],
    mode: str = "constant",
    value: float = 0.0,
    data_format: str = "NCHW",
    pad_from_left_axis: bool = True,
    name: str | None = None,
) -> Tensor:
    """``x`` with so many elements before and after each axis.

    ``pad`` has a pair for every axis, from the first on; or pairs for some of the axes after the channels (or before
    them, as ``data_format`` says), from the last on.
    """
    x, pairs = _check.tensor(x, "pad", "x"), _check.pairs(pad, "pad", "pad")
    if len(pairs) == x.ndim:
        widths = pairs if pad_from_left_axis else pairs[::-1]
    else:
        last = 1 if data_format.endswith("C") else 0
        widths = [(0, 0)] * (x.ndim - len(pairs) - last) + pairs[::-1] + [(0, 0)] * last
    return ops.pad(x, widths, mode, value)
