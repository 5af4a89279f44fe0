"""``torch.nn.functional``."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ferrograd._core import ArgumentError, DtypeError, ShapeError, TorchTensor
from ferrograd._core.torch import (
    conv1d,
    conv2d,
    conv3d,
    conv_transpose1d,
    conv_transpose2d,
    conv_transpose3d,
    gelu,
    linear,
    one_hot,
    pdist,
    prelu,
    sigmoid,
    softplus,
    tanh,
)
from ferrograd._functions.casts import in_inexact
from ferrograd._functions.half_floats import rounded_once
from ferrograd._functions.norms import in_dtype_of
from ferrograd._kit import adapters as _adapters, arguments as _arguments, public as _public
from ferrograd._kit.ops import ops
from ferrograd._kit.out import into
from ferrograd._kit.specialize import specialize
from ferrograd._kit.warning import warn
from ferrograd._tensor.dtypes import finfo
from ferrograd.torch._tensor import Tensor
from ferrograd.torch.nn import _functional, grad as grad
from ferrograd.torch.nn._functional.activations import *
from ferrograd.torch.nn._functional.attention import *
from ferrograd.torch.nn._functional.dropout import *
from ferrograd.torch.nn._functional.embedding import *
from ferrograd.torch.nn._functional.images import *
from ferrograd.torch.nn._functional.losses import *
from ferrograd.torch.nn._functional.losses import reduction_of
from ferrograd.torch.nn._functional.pools import *

__all__ = [
    "bilinear",
    "binary_cross_entropy",
    "binary_cross_entropy_with_logits",
    "conv1d",
    "conv2d",
    "conv3d",
    "conv_transpose1d",
    "conv_transpose2d",
    "conv_transpose3d",
    "cosine_similarity",
    "cross_entropy",
    "gelu",
    "group_norm",
    "gumbel_softmax",
    "huber_loss",
    "kl_div",
    "l1_loss",
    "layer_norm",
    "linear",
    "linear_cross_entropy",
    "log_softmax",
    "mse_loss",
    "nll_loss",
    "normalize",
    "one_hot",
    "pad",
    "pairwise_distance",
    "pdist",
    "prelu",
    "rms_norm",
    "sigmoid",
    "smooth_l1_loss",
    "softmax",
    "softmin",
    "softplus",
    "tanh",
]
__all__ += _public.gathered(globals(), _functional)


def _axis(what: str, input: Tensor, dim: int | None) -> int:
    """The axis; if none is given that which torch guesses, with its warning."""
    if dim is not None:
        return dim
    warn(f"Implicit dimension choice for {what} has been deprecated. Change the call to include dim=X as an argument.")
    return 0 if _arguments.tensor(input, what, "input").ndim in (0, 1, 3) else 1


def softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Tensor:
    """``exp(x) / sum(exp(x))`` along an axis."""
    return ops.softmax(in_inexact(input, dtype, "softmax"), _axis("softmax", input, dim))


def softmin(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Tensor:
    """The softmax of ``-input``."""
    return softmax(ops.negative(input), dim, _stacklevel, dtype)


def log_softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Tensor:
    """The logarithm of the softmax along an axis."""
    return ops.log_softmax(in_inexact(input, dtype, "log_softmax"), _axis("log_softmax", input, dim))


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
    """The cross entropy of logits along axis 1 and targets: class indices or probabilities."""
    reduction = reduction_of(size_average, reduce, reduction)
    if ignore_index >= 0 and _arguments.tensor(target, "cross_entropy", "target").dtype.kind == "f":
        raise ArgumentError(
            "cross_entropy: ignore_index is not supported for a floating point target, which has the probabilities of "
            "the classes: multiply the loss of each sample by 0 or 1 instead"
        )
    return ops.cross_entropy(input, target, weight, ignore_index, reduction, label_smoothing)


@rounded_once
def linear_cross_entropy(
    input: Tensor,
    linear_weight: Tensor,
    target: Tensor,
    *,
    linear_bias: Tensor | None = None,
    weight: Tensor | None = None,
    reduction: str = "mean",
    ignore_index: int | None = None,
    label_smoothing: float = 0.0,
    options: object = None,
) -> Tensor:
    """The cross entropy of ``linear(input, linear_weight, linear_bias)`` and targets.

    The weight is [classes, …, in], and the input [batch, in] or (of a weight with two axes) [in]. ``options``, by which
    PyTorch computes the batch in pieces, changes nothing here.

    >>> import ferrograd.torch as torch
    >>> torch.nn.functional.linear_cross_entropy(torch.zeros(1, 2), torch.ones(1, 2), torch.tensor([0])).item()
    0.0
    """
    function = "linear_cross_entropy"
    input = _arguments.tensor(input, function, "input")
    linear_weight = _arguments.tensor(linear_weight, function, "linear_weight")
    batch = list(input.shape[:-1])
    if input.ndim not in (1, 2) or linear_weight.ndim < 2 or (linear_weight.ndim > 2 and not batch):
        raise ShapeError(
            f"{function}: [batch, in] and [classes, ..., in], or [in] and [classes, in] are needed, got "
            f"{list(input.shape)} and {list(linear_weight.shape)}"
        )
    classes, *rest, size = linear_weight.shape
    rows = math.prod([classes, *rest])
    bias = None if linear_bias is None else ops.reshape(linear_bias, [rows])
    logits = ops.reshape(ops.linear(input, ops.reshape(linear_weight, [rows, size]), bias), [*batch, classes, *rest])
    if ignore_index is None:
        ignore_index = -100
    elif tuple(_arguments.tensor(target, function, "target").shape) == tuple(logits.shape):
        raise ArgumentError(f"{function}: ignore_index is for class indices, the target has probabilities")
    return ops.cross_entropy(logits, target, weight, ignore_index, reduction, label_smoothing)


def nll_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """The negative log-likelihood of each sample's class, from log-probabilities along axis 1."""
    _check_nll(input, target, weight)
    return ops.nll_loss(input, target, weight, ignore_index, reduction_of(size_average, reduce, reduction))


def _check_nll(input: Tensor, target: Tensor, weight: Tensor | None) -> None:
    """Raises for dtypes that PyTorch refuses, where a program has likely confused its tensors."""
    given = _arguments.tensor(input, "nll_loss", "input").dtype
    if given.kind != "f":
        raise DtypeError(f"nll_loss: the log-probabilities are floats, not {given}: are the arguments swapped?")
    labels = _arguments.tensor(target, "nll_loss", "target").dtype
    if labels.kind in "iu" and labels.name not in ("int64", "uint8"):
        raise DtypeError(f"nll_loss: expected target dtype to be Long or Byte, but got {labels}: target.long()")
    if weight is not None and _arguments.tensor(weight, "nll_loss", "weight").dtype != given:
        raise DtypeError(f"nll_loss: the weight is of {weight.dtype} and the input of {given}: weight.to(input.dtype)")


def _difference_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    weight: Tensor | None = None,
    *,
    _op: Any = None,
) -> Tensor:
    _warn_of_broadcasting(input, target)
    reduction = reduction_of(size_average, reduce, reduction)
    if weight is None:
        result: Tensor = _op(input, target, reduction)
        return result
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(f"Invalid reduction mode: {reduction}. Expected one of 'none', 'mean', 'sum'.")
    _check_weight(input, weight, _op.__name__)
    loss: Tensor = ops.multiply(_op(input, target, "none"), weight)
    if reduction == "none":
        return loss
    return ops.sum(loss) if reduction == "sum" else ops.divide(ops.sum(loss), ops.sum(weight))


def _check_weight(input: Tensor, weight: Tensor, function: str) -> None:
    if _arguments.tensor(weight, function, "weight").shape != _arguments.tensor(input, function, "input").shape:
        raise ValueError("Weights and input must have the same size.")


def _warn_of_broadcasting(input: Tensor, target: Tensor) -> None:
    """Warns of a target that has another size than the input: each element would be compared with many."""
    if _differ_in_size(input, target):
        warn(
            f"Using a target size ({target.shape}) that is different to the input size ({input.shape}). This will "
            "likely lead to incorrect results due to broadcasting. Please ensure they have the same size."
        )


def _differ_in_size(input: Tensor, target: Tensor) -> bool:
    return isinstance(input, Tensor) and isinstance(target, Tensor) and input.shape != target.shape


mse_loss = specialize(
    "mse_loss", "The squared difference of predictions and targets.", _difference_loss, _op=ops.mse_loss
)
l1_loss = specialize(
    "l1_loss", "The absolute difference of predictions and targets.", _difference_loss, _op=ops.l1_loss
)


def pad(input: Tensor, pad: Sequence[int], mode: str = "constant", value: float | None = None) -> Tensor:
    """``input`` padded before and after its last axes. ``pad`` has a pair for each, from the last axis on."""
    input, pairs = _arguments.tensor(input, "pad", "input"), _arguments.pairs(pad, "pad", "pad")
    if len(pairs) > input.ndim:
        raise ShapeError(
            "pad: Padding length should be less than or equal to two times the input dimension but got padding length "
            f"{2 * len(pairs)} and input of dimension {input.ndim}"
        )
    widths = [(0, 0)] * (input.ndim - len(pairs)) + pairs[::-1]
    if mode == "circular":
        for n, (before, after) in zip(input.shape, widths, strict=True):
            if max(before, after) > n:
                raise ShapeError("pad: Padding value causes wrapping around more than once.")
            if n + before + after < 0:
                raise ShapeError("pad: Negative padding value is resulting in an empty dimension")
    elif mode != "constant":
        _arguments.images("pad", input, len(pairs) + 1)
        for axis, (n, (before, after)) in enumerate(zip(input.shape, widths, strict=True)):
            if mode == "reflect" and max(before, after, 0) >= max(n, 1):
                raise ShapeError(
                    "pad: Padding size should be less than the corresponding input dimension, but got: padding "
                    f"({before}, {after}) at dimension {axis} of input {list(input.shape)}"
                )
    padded = ops.pad(input, widths, mode, 0.0 if value is None else value)
    return padded.contiguous() if mode == "circular" else padded


def normalize(input: Tensor, p: float = 2.0, dim: Any = 1, eps: float = 1e-12, out: Tensor | None = None) -> Tensor:
    """``input / max(norm, eps)`` with the ``p``-norm along an axis, or of all elements of several axes."""
    if isinstance(dim, tuple | list):
        norm = ops.clip(ops.vector_norm(input, p, dim or None, True), eps, None)
        result: Tensor = into(out, ops.divide(input, norm))
        return result
    result = into(out, ops.normalize(input, p, dim, eps))
    return result


def layer_norm(
    input: Tensor,
    normalized_shape: Any,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-05,
) -> Tensor:
    """Normalizes over the last axes to mean 0 and variance 1, then scales by ``weight`` and shifts by ``bias``."""
    result: Tensor = in_dtype_of(input, ops.layer_norm(input, normalized_shape, weight, bias, eps))
    return result


def group_norm(
    input: Tensor, num_groups: int, weight: Tensor | None = None, bias: Tensor | None = None, eps: float = 1e-05
) -> Tensor:
    """Normalizes each of ``num_groups`` groups of channels to mean 0 and variance 1, then scales and shifts.

    Raises: ArgumentError: each group has a single value, which would become 0."""
    if math.prod(_arguments.tensor(input, "group_norm", "input").shape) == num_groups:
        raise ArgumentError(f"Expected more than 1 value per channel when training, got input size {list(input.shape)}")
    result: Tensor = in_dtype_of(input, ops.group_norm(input, num_groups, weight, bias, eps))
    return result


def rms_norm(input: Tensor, normalized_shape: Any, weight: Tensor | None = None, eps: float | None = None) -> Tensor:
    """``input / sqrt(mean(input ** 2) + eps) * weight``, with the mean over the last axes."""
    if eps is None:
        eps = float(finfo(_arguments.tensor(input, "rms_norm", "input").dtype).eps)
    result: Tensor = in_dtype_of(input, ops.rms_norm(input, normalized_shape, weight, eps))
    return result


def kl_div(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    log_target: bool = False,
) -> Tensor:
    """The Kullback-Leibler divergence ``target * (log(target) - input)`` of log-probabilities ``input``."""
    return ops.kl_div(input, target, reduction_of(size_average, reduce, reduction), log_target)


def binary_cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """The binary cross entropy of probabilities and targets in [0, 1], which have one shape."""
    if _differ_in_size(input, target):
        raise ArgumentError(
            f"Using a target size ({target.shape}) that is different to the input size ({input.shape}) is not "
            "supported: it must be the same as input size"
        )
    return ops.binary_cross_entropy(input, target, weight, reduction_of(size_average, reduce, reduction))


def binary_cross_entropy_with_logits(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    pos_weight: Tensor | None = None,
) -> Tensor:
    """The binary cross entropy of the sigmoid of ``input`` and targets in [0, 1], which have one shape."""
    if _differ_in_size(input, target):
        raise ArgumentError(f"Target size ({target.shape}) must be the same as input size ({input.shape})")
    reduction = reduction_of(size_average, reduce, reduction)
    return ops.binary_cross_entropy_with_logits(input, target, weight, reduction, pos_weight)


def smooth_l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    beta: float = 1.0,
) -> Tensor:
    """``d**2 / (2 * beta)`` where the absolute difference ``d`` is below ``beta``, else ``d - beta / 2``."""
    _warn_of_broadcasting(input, target)
    return ops.smooth_l1_loss(input, target, reduction_of(size_average, reduce, reduction), beta)


def huber_loss(
    input: Tensor, target: Tensor, reduction: str = "mean", delta: float = 1.0, weight: Tensor | None = None
) -> Tensor:
    """``d**2 / 2`` where the absolute difference ``d`` is below ``delta``, else ``delta * (d - delta / 2)``."""
    _warn_of_broadcasting(input, target)
    if weight is None:
        return ops.huber_loss(input, target, reduction, delta)
    _check_weight(input, weight, "huber_loss")
    loss = ops.multiply(ops.huber_loss(input, target, "none", delta), weight)
    if reduction == "none":
        return loss
    return ops.sum(loss) if reduction == "sum" else ops.mean(loss)


def cosine_similarity(x1: Tensor, x2: Tensor, dim: int = 1, eps: float = 1e-8) -> Tensor:
    """The cosine of the angle between vectors along an axis."""
    if eps < 0:
        raise ArgumentError(f"cosine_similarity: eps must be non-negative, got: {eps}")
    return ops.cosine_similarity(x1, x2, dim, eps)


def pairwise_distance(x1: Tensor, x2: Tensor, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> Tensor:
    """The ``p``-norm of ``x1 - x2 + eps`` along the last axis."""
    return ops.pairwise_distance(x1, x2, p, eps, keepdim)


def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """``y[o] = input1 @ weight[o] @ input2 + bias[o]`` for the last axes of two inputs."""
    y: Tensor = ops.einsum("...i,oij,...j->...o", input1, weight, input2)
    return y if bias is None else ops.add(y, bias)


def gumbel_softmax(logits: Tensor, tau: float = 1, hard: bool = False, eps: float = 1e-10, dim: int = -1) -> Tensor:
    """The softmax of logits with random numbers of the Gumbel distribution added, at temperature ``tau``.

    With ``hard`` it is a one-hot vector, whose gradient is that of the softmax.
    """
    shape = list(_arguments.tensor(logits, "gumbel_softmax", "logits").shape)
    # In half precision they would have too few values. Their logarithms are kept from infinity.
    dtype = "float64" if logits.dtype == "float64" else "float32"
    waiting = ops.mersenne.draw("exponential", shape, dtype, 1)
    noise = ops.astype(-ops.log(ops.clip(waiting, 1e-38, None)), logits.dtype)
    soft = ops.softmax((logits + noise) / tau, dim)
    if not hard:
        return soft
    chosen = ops.argmax(soft, dim, True)
    return ops.scatter(ops.zeros(shape, soft.dtype), dim, chosen, 1.0) - soft.detach() + soft


_in_place = _adapters.in_place_functions(
    __name__, TorchTensor, ["celu", "elu", "hardtanh", "leaky_relu", "relu", "selu", "sigmoid", "tanh", "threshold"]
)
globals().update(_in_place)
__all__ += _in_place

__dir__ = _public.names(globals())
