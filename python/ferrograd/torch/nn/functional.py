"""``torch.nn.functional``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ferrograd import _check
from ferrograd._core import ArgumentError, Tensor
from ferrograd._core import torch as ops
from ferrograd._core.torch import (
    conv1d,
    conv2d,
    conv_transpose2d,
    gelu,
    layer_norm,
    leaky_relu,
    linear,
    max_pool2d,
    one_hot,
    prelu,
    relu,
    sigmoid,
    silu,
    softplus,
    tanh,
)

__all__ = [
    "conv1d",
    "conv2d",
    "conv_transpose2d",
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
    "tanh",
]


def _axis(what: str, dim: int | None) -> int:
    if dim is None:
        raise ArgumentError(f"{what}: dim must be given; torch guesses it here, and warns that it should not")
    return dim


def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """``input`` with elements put to zero with probability ``p`` and the others divided by ``1 - p``."""
    result = ops.dropout(input, p, training)
    return input.copy_(result) if inplace else result


def softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Tensor:
    """The exponentials along an axis divided by their sum."""
    return ops.softmax(input if dtype is None else ops.cast(input, dtype), _axis("softmax", dim))


def log_softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Tensor:
    """The logarithm of the softmax along an axis."""
    return ops.log_softmax(input if dtype is None else ops.cast(input, dtype), _axis("log_softmax", dim))


def _reduction(size_average: bool | None, reduce: bool | None, reduction: str) -> str:
    """The reduction, from the two old flags where one of them is given."""
    if size_average is None and reduce is None:
        return reduction
    if reduce is False:
        return "none"
    return "sum" if size_average is False else "mean"


def cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Tensor:
    """The cross entropy between the softmax of ``input`` along axis 1 and targets: integers, or probabilities."""
    reduction = _reduction(size_average, reduce, reduction)
    return ops.cross_entropy(input, target, weight, ignore_index, reduction, label_smoothing)


def nll_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """The negative log-probability of each sample's class."""
    return ops.nll_loss(input, target, weight, ignore_index, _reduction(size_average, reduce, reduction))


def mse_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """The squared difference of predictions and targets."""
    return ops.mse_loss(input, target, _reduction(size_average, reduce, reduction))


def l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """The absolute difference of predictions and targets."""
    return ops.l1_loss(input, target, _reduction(size_average, reduce, reduction))


def pad(input: Tensor, pad: Sequence[int], mode: str = "constant", value: float | None = None) -> Tensor:
    """``input`` with so many elements before and after each axis; the pairs of ``pad`` start at the last axis."""
    input, pairs = _check.tensor(input, "pad", "input"), _check.pairs(pad, "pad", "pad")
    widths = [(0, 0)] * (input.ndim - len(pairs)) + pairs[::-1]
    return ops.pad(input, widths, mode, 0.0 if value is None else value)
