"""``paddle.nn.functional``."""

from __future__ import annotations

import sys as _sys
from collections.abc import Sequence
from typing import Any

from ferrograd import _core
from ferrograd._core import ArgumentError, PaddleTensor as _PaddleTensor, ShapeError, paddle as ops
from ferrograd._core.paddle import (
    binary_cross_entropy,
    binary_cross_entropy_with_logits,
    celu,
    diag_embed,
    elu,
    glu,
    hardshrink,
    hardsigmoid,
    hardswish,
    hardtanh,
    l1_loss,
    leaky_relu,
    log_sigmoid,
    mish,
    mse_loss,
    nll_loss,
    normalize,
    pairwise_distance,
    pdist,
    relu,
    relu6,
    rms_norm,
    selu,
    sigmoid,
    softplus,
    softshrink,
    softsign,
    swish,
    tanh,
    tanhshrink,
    thresholded_relu,
)
from ferrograd._functions.casts import in_inexact
from ferrograd._functions.embedding import by_frequency, check_indices, renormalize
from ferrograd._functions.norms import in_dtype_of
from ferrograd._kit import adapters as _adapters, arguments as _arguments, public as _public
from ferrograd._kit.out import into
from ferrograd.paddle._tensor import Tensor
from ferrograd.paddle.nn import _functional
from ferrograd.paddle.nn._functional.convolutions import *
from ferrograd.paddle.nn._functional.convolutions import channels_last as _channels_last
from ferrograd.paddle.nn._functional.images import *
from ferrograd.paddle.nn._functional.losses import *
from ferrograd.paddle.nn._functional.many_classes import *
from ferrograd.paddle.nn._functional.paths_and_labels import *
from ferrograd.paddle.nn._functional.pools import *

__all__ = [
    "binary_cross_entropy",
    "binary_cross_entropy_with_logits",
    "celu",
    "cosine_similarity",
    "cross_entropy",
    "diag_embed",
    "dropout",
    "elu",
    "embedding",
    "gelu",
    "glu",
    "group_norm",
    "hardshrink",
    "hardsigmoid",
    "hardswish",
    "hardtanh",
    "kl_div",
    "l1_loss",
    "layer_norm",
    "leaky_relu",
    "linear",
    "log_loss",
    "log_sigmoid",
    "log_softmax",
    "logsigmoid",
    "mish",
    "mse_loss",
    "nll_loss",
    "normalize",
    "one_hot",
    "pad",
    "pairwise_distance",
    "pdist",
    "prelu",
    "relu",
    "relu6",
    "rms_norm",
    "selu",
    "sigmoid",
    "silu",
    "smooth_l1_loss",
    "softmax",
    "softmax_with_cross_entropy",
    "softplus",
    "softshrink",
    "softsign",
    "square_error_cost",
    "swiglu",
    "swish",
    "tanh",
    "tanhshrink",
    "thresholded_relu",
]
__all__ += _public.gathered(globals(), _functional)


logsigmoid = log_sigmoid


def linear(x: Tensor, weight: Tensor, bias: Tensor | None = None, name: str | None = None) -> Tensor:
    """``x @ weight + bias``. The weight has the shape [in, out]."""
    return ops.linear(x, weight, bias, False)


def cosine_similarity(x1: Tensor, x2: Tensor, axis: int = 1, eps: float = 1e-8) -> Tensor:
    """The cosine of the angle between vectors along an axis. The product of their norms is at least ``eps``."""
    x1, x2 = (_arguments.tensor(x, "cosine_similarity", name) for x, name in ((x1, "x1"), (x2, "x2")))
    x1, x2 = ops.broadcast_tensors([x1, x2])
    length1, length2 = (ops.norm(x, 2.0, axis, True) for x in (x1, x2))
    # Each vector is divided by its own length, since the product of both may overflow.
    is_long = length1 * length2 >= eps
    unit1, unit2 = x1 / ops.where(is_long, length1, 1.0), x2 / ops.where(is_long, length2, eps)
    return ops.sum(unit1 * unit2, axis)


def silu(x: Tensor, inplace: bool = False, name: str | None = None) -> Tensor:
    """``x * sigmoid(x)``; with ``inplace`` it overwrites ``x``."""
    return _arguments.tensor(x, "silu", "x").silu_() if inplace else ops.silu(x)


def prelu(x: Tensor, weight: Tensor, data_format: str = "NCHW", name: str | None = None) -> Tensor:
    """``x`` where it is positive, else times the weight: one number, or one for each channel."""
    x, weight = _arguments.tensor(x, "prelu", "x"), _arguments.tensor(weight, "prelu", "weight")
    if weight.numel() == 1 or not _channels_last(data_format, "prelu"):
        return ops.prelu(x, weight)
    return ops.where(x > 0, x, ops.multiply(x, weight))


def gelu(x: Tensor, approximate: bool = False, name: str | None = None) -> Tensor:
    """``x * Phi(x)`` with the standard normal distribution function, or its tanh approximation."""
    return ops.gelu(x, "tanh" if approximate else "none")


def dropout(
    x: Tensor,
    p: float = 0.5,
    axis: Any = None,
    training: bool = True,
    inplace: bool = False,
    mode: str = "upscale_in_train",
    name: str | None = None,
) -> Tensor:
    """In training sets elements to zero with probability ``p``.

    The others are divided by ``1 - p``. With ``mode="downscale_in_infer"`` they are not, but elements are multiplied by
    ``1 - p`` outside of training. With ``axis`` one draw per index of these axes holds for all other axes. With
    ``inplace`` the result overwrites ``x``.
    """
    if inplace not in (True, False):
        raise ArgumentError(f"dropout: inplace must be a bool, not {inplace!r:.40}; mode comes after it")
    if inplace:
        dropped = dropout(x, p, axis, training, False, mode)
        _core.overwrite(_arguments.tensor(x, "dropout", "x"), "dropout", False, lambda _: dropped, (), {})
        return x
    if mode not in ("upscale_in_train", "downscale_in_infer"):
        raise ArgumentError(f"dropout: mode must be 'upscale_in_train' or 'downscale_in_infer', not {mode!r}")
    if p == 0:
        return _arguments.tensor(x, "dropout", "x")
    kept = 1.0 if mode == "upscale_in_train" else 1.0 - p
    if not training:
        return ops.multiply(x, kept)
    if axis is None:
        return ops.multiply(ops.dropout(x, p, True), kept)
    axes = _arguments.integers([axis] if isinstance(axis, int) else axis, "dropout", "axis")
    if not all(0 <= a < _arguments.tensor(x, "dropout", "x").ndim for a in axes):
        raise ArgumentError(
            f"dropout: axis value should be greater than or equal to 0 and less than dimensions of x:{x.ndim}, "
            f"but get axis value:{axis}"
        )
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
    """Normalizes over the last axes to mean 0 and variance 1, then scales by ``weight`` and shifts by ``bias``."""
    if isinstance(normalized_shape, list | tuple) and len(normalized_shape) > 1:
        # Paddle's layers keep these as vectors.
        weight, bias = (None if t is None else ops.reshape(t, list(normalized_shape)) for t in (weight, bias))
    result: Tensor = in_dtype_of(x, ops.layer_norm(x, normalized_shape, weight, bias, epsilon))
    return result


def group_norm(
    x: Tensor,
    num_groups: int,
    epsilon: float = 1e-05,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    data_format: str = "NCHW",
    name: str | None = None,
) -> Tensor:
    """Normalizes each of ``num_groups`` groups of channels to mean 0 and variance 1, then scales and shifts."""
    is_last = _channels_last(data_format, "group_norm")
    y = ops.group_norm(ops.moveaxis(x, -1, 1) if is_last else x, num_groups, weight, bias, epsilon)
    result: Tensor = in_dtype_of(x, ops.moveaxis(y, 1, -1) if is_last else y)
    return result


def softmax(
    x: Tensor, axis: int = -1, dtype: Any = None, name: str | None = None, *, out: Tensor | None = None
) -> Tensor:
    """``exp(x) / sum(exp(x))`` along an axis."""
    return into(out, ops.softmax(in_inexact(x, dtype, "softmax"), axis))


def log_softmax(x: Tensor, axis: int = -1, dtype: Any = None, name: str | None = None) -> Tensor:
    """The logarithm of the softmax along an axis."""
    return ops.log_softmax(in_inexact(x, dtype, "log_softmax"), axis)


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
    """The cross entropy of logits along an axis and labels.

    Labels are class indices without the axis or with size 1 there, or with ``soft_label`` probabilities. Without
    ``use_softmax`` the input holds probabilities. Without a reduction the losses keep the axis, with size 1, where the
    labels have it and where they are probabilities, as they are after ``label_smoothing``, which takes one-hot vectors
    without ``soft_label`` too. There the weight of an example is the sum of ``weight`` by its probabilities.
    """
    input, label = (
        _arguments.tensor(input, "cross_entropy", "input"),
        _arguments.tensor(label, "cross_entropy", "label"),
    )
    axis = _arguments.axis(axis, "cross_entropy", input.ndim)
    if soft_label and list(label.shape) != list(input.shape):
        raise ShapeError(
            f"cross_entropy: with soft_label the labels are probabilities of the shape {list(input.shape)}, not "
            f"{list(label.shape)}"
        )
    if label_smoothing > 0 and label.ndim == input.ndim and label.shape[axis] == input.shape[axis] > 1:
        soft_label, label = True, ops.cast(label, input.dtype)
    kept = not soft_label and label.ndim == input.ndim
    if kept and label.shape[axis] == 1:
        label = ops.squeeze(label, axis)
    soft = soft_label or label_smoothing > 0
    if not soft or (use_softmax and weight is None):
        if use_softmax:
            loss = ops.cross_entropy(input, label, weight, ignore_index, reduction, label_smoothing, axis)
        else:
            loss = ops.nll_loss(ops.log(input), label, weight, ignore_index, reduction, axis)
    else:
        classes = input.shape[axis]
        p = label if soft_label else ops.moveaxis(ops.one_hot(label, classes, input.dtype), -1, axis)
        p = p * (1 - label_smoothing) + label_smoothing / classes
        if use_softmax:
            loss = ops.cross_entropy(input, p, None, ignore_index, "none", 0.0, axis)
        else:
            loss = -ops.sum(ops.xlogy(p, input), axis)
        total = None
        if weight is not None:
            # The weight of an example is the mean of those of the classes, by its probabilities.
            of_example = ops.matmul(ops.moveaxis(p, axis, -1), ops.cast(weight, p.dtype))
            loss, total = loss * of_example, ops.sum(of_example)
        loss = _reduced(loss, total, reduction)
    return ops.expand_dims(loss, axis) if (kept or soft) and reduction == "none" else loss


def _reduced(loss: Tensor, total: Tensor | None, reduction: str) -> Tensor:
    """The losses of examples, their sum, or their mean by weights with this sum."""
    if reduction not in ("none", "sum", "mean"):
        raise ArgumentError(f"cross_entropy: reduction is 'none', 'sum' or 'mean', not {reduction!r}")
    if reduction == "mean" and total is not None:
        return ops.sum(loss) / (total + (total == 0))
    return loss if reduction == "none" else ops.sum(loss) if reduction == "sum" else ops.mean(loss)


def one_hot(x: Tensor, num_classes: int = -1, name: str | None = None) -> Tensor:
    """One-hot vectors of integers along a new last axis, in float32."""
    return _core.from_zero(ops.one_hot, x, num_classes, "float32")


def pad(
    x: Tensor,
    pad: Sequence[int],
    mode: str = "constant",
    value: float = 0.0,
    data_format: str | None = None,
    pad_from_left_axis: bool = True,
    name: str | None = None,
) -> Tensor:
    """``x`` padded before and after its axes.

    ``pad`` has a pair for every axis, from the first on (from the last without ``pad_from_left_axis``), or pairs for
    some of the spatial axes of ``data_format``, from the last on.

    Raises:
        ArgumentError: ``data_format`` is that of tensors with another number of axes.
    """
    x, pairs = _arguments.tensor(x, "pad", "x"), _arguments.pairs(pad, "pad", "pad")
    if len(pairs) == x.ndim:
        widths = pairs if pad_from_left_axis else pairs[::-1]
    else:
        if data_format is not None and len(data_format) != x.ndim:
            raise ArgumentError(f"pad: the input has {x.ndim} axes, so data_format can't be {data_format!r}")
        last = 1 if data_format is not None and _channels_last(data_format, "pad") else 0
        widths = [(0, 0)] * (x.ndim - len(pairs) - last) + pairs[::-1] + [(0, 0)] * last
    return ops.pad(x, widths, mode, value)


def embedding(
    x: Tensor,
    weight: Tensor,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    sparse: bool = False,
    scale_grad_by_freq: bool = False,
    name: str | None = None,
) -> Tensor:
    """The rows of ``weight`` at the indices ``x``. The row ``padding_idx`` is replaced by zeros.

    With ``max_norm`` the rows that are used are first scaled in place to at most that norm. With
    ``scale_grad_by_freq`` gradients are divided by the number of times that a row is used.
    """
    x, weight = _arguments.tensor(x, "embedding", "x"), _arguments.tensor(weight, "embedding", "weight")
    check_indices(x)
    flat = ops.reshape(x, [-1])
    if max_norm is not None:
        renormalize(weight, x, max_norm, norm_type)
    rows = _core.from_zero(ops.index_select, weight, 0, flat)
    rows = ops.reshape(
        by_frequency(rows, flat, weight.shape[0]) if scale_grad_by_freq else rows, [*x.shape, *weight.shape[1:]]
    )
    if padding_idx is None:
        return rows
    count = weight.shape[0]
    if not -count <= padding_idx < count:
        raise ArgumentError(f"embedding: padding_idx {padding_idx} is not one of the {count} rows")
    return ops.where(ops.expand_dims(ops.equal(x, padding_idx % count), -1), 0.0, rows)


def smooth_l1_loss(
    input: Tensor,
    label: Tensor,
    reduction: str = "mean",
    delta: float = 1.0,
    is_huber: bool = True,
    name: str | None = None,
) -> Tensor:
    """The Huber loss: ``d**2 / 2`` where the absolute difference ``d`` is below ``delta``, else linear.

    Without ``is_huber`` it is divided by ``delta``.
    """
    loss = ops.huber_loss if is_huber else ops.smooth_l1_loss
    return loss(input, label, reduction, delta)


def square_error_cost(input: Tensor, label: Tensor) -> Tensor:
    """The squared difference, elementwise."""
    return ops.square(ops.subtract(input, label))


def log_loss(input: Tensor, label: Tensor, epsilon: float = 1e-4, name: str | None = None) -> Tensor:
    """``-label * log(input + epsilon) - (1 - label) * log(1 - input + epsilon)``, elementwise."""
    yes = ops.multiply(label, ops.log(ops.add(input, epsilon)))
    no = ops.multiply(ops.subtract(1.0, label), ops.log(ops.subtract(1.0 + epsilon, input)))
    return ops.negative(ops.add(yes, no))


def softmax_with_cross_entropy(
    logits: Tensor,
    label: Tensor,
    soft_label: bool = False,
    ignore_index: int = -100,
    numeric_stable_mode: bool = True,
    return_softmax: bool = False,
    axis: int = -1,
) -> Any:
    """The cross entropy of each sample, with size 1 along ``axis``; with ``return_softmax`` also the softmax."""
    loss = cross_entropy(logits, label, None, ignore_index, "none", soft_label, axis)
    if loss.ndim < logits.ndim:
        loss = ops.expand_dims(loss, axis)
    return (loss, ops.softmax(logits, axis)) if return_softmax else loss


def swiglu(x: Tensor, y: Tensor | None = None, name: str | None = None) -> Tensor:
    """``silu(x) * y``. Without ``y`` they are the halves of ``x`` along the last axis."""
    if y is None:
        x = _arguments.tensor(x, "swiglu", "x")
        if x.ndim == 0 or x.shape[-1] % 2:
            raise ShapeError(f"swiglu: the last axis of {list(x.shape)} cannot be halved")
        x, y = ops.split(x, 2, -1)
    return ops.multiply(ops.silu(x), y)


def embedding_renorm_(x: Tensor, weight: Tensor, max_norm: float, norm_type: float = 2.0) -> Tensor:
    """Scales the rows of ``weight`` that ``x`` looks up, in place, to ``max_norm`` where their norm is larger."""
    renormalize(weight, x, max_norm, norm_type)
    return weight


#: Functions that Paddle lets PyTorch's names of arguments reach.
_RENAMED = """adaptive_avg_pool1d adaptive_avg_pool2d adaptive_avg_pool3d adaptive_max_pool1d adaptive_max_pool2d
adaptive_max_pool3d conv1d conv2d conv3d cosine_similarity cross_entropy gelu group_norm interpolate log_softmax
lp_pool1d lp_pool2d one_hot silu softmax"""
for _name in _RENAMED.split():
    globals()[_name] = _adapters.accept_synonyms(globals()[_name])
    globals()[_name].__module__ = __name__
_in_place = _adapters.in_place_functions(__name__, _PaddleTensor, __all__)
globals().update(_in_place)
__all__ += _in_place


def elu_(x: Tensor, alpha: float = 1.0, name: str | None = None) -> Tensor:
    """Overwrites with ``x`` where it is positive, else ``alpha * (exp(x) - 1)``; ``alpha`` is not negative.

    Raises:
        ArgumentError: ``alpha`` is negative, so that results do not tell where ``x`` was.
    """
    if alpha < 0:
        raise ArgumentError("elu_ only support alpha >= 0, please use elu instead.")
    return _arguments.tensor(x, "elu_", "x").elu_(alpha)


#: Paddle has a module for each of these; programs import from it too.
_MODULES = "activation common conv distance extension input loss norm pooling vision"
for _name in _MODULES.split():
    _sys.modules[f"{__name__}.{_name}"] = _sys.modules[__name__]

__dir__ = _public.names(globals())
