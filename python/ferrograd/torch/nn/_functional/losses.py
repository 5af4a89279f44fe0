"""PyTorch's losses that are made of other functions. Those with an op of their own are in ``functional``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ferrograd._autograd.autocast import in_float32
from ferrograd._functions import losses
from ferrograd._kit.arguments import typed
from ferrograd._kit.ops import ops
from ferrograd.torch._tensor import Tensor

__all__ = [
    "cosine_embedding_loss",
    "ctc_loss",
    "gaussian_nll_loss",
    "hinge_embedding_loss",
    "margin_ranking_loss",
    "multi_margin_loss",
    "multilabel_margin_loss",
    "multilabel_soft_margin_loss",
    "poisson_nll_loss",
    "soft_margin_loss",
    "triplet_margin_loss",
    "triplet_margin_with_distance_loss",
]

Flag = bool | None


def reduction_of(size_average: Flag, reduce: Flag, reduction: str) -> str:
    """The reduction; the deprecated flags replace it if one of them is given."""
    if size_average is None and reduce is None:
        return reduction
    if reduce is False:
        return "none"
    return "sum" if size_average is False else "mean"


@in_float32
def poisson_nll_loss(
    input: Tensor,
    target: Tensor,
    log_input: bool = True,
    full: bool = False,
    size_average: Flag = None,
    eps: float = 1e-08,
    reduce: Flag = None,
    reduction: str = "mean",
) -> Tensor:
    """The negative log-likelihood of counts whose rate is ``input``, or with ``log_input`` the exponential of it.

    The term ``log(target!)`` is left out, or with ``full`` approximated.
    """
    return losses.poisson_nll_loss(input, target, log_input, full, eps, reduction_of(size_average, reduce, reduction))


def gaussian_nll_loss(
    input: Tensor, target: Tensor, var: Any, full: bool = False, eps: float = 1e-06, reduction: str = "mean"
) -> Tensor:
    """The negative log-likelihood of targets that are normal with mean ``input`` and variance ``var``.

    The variance is at least ``eps``. ``full`` adds the constant term.
    """
    return losses.gaussian_nll_loss(input, target, var, full, eps, reduction)


@in_float32
def hinge_embedding_loss(
    input: Tensor,
    target: Tensor,
    margin: float = 1.0,
    size_average: Flag = None,
    reduce: Flag = None,
    reduction: str = "mean",
) -> Tensor:
    """``input`` where the target is 1, ``max(margin - input, 0)`` where it is -1."""
    return losses.hinge_embedding_loss(input, target, margin, reduction_of(size_average, reduce, reduction))


@in_float32
@typed(input=Tensor, target=Tensor, reduction=str)
def soft_margin_loss(
    input: Tensor, target: Tensor, size_average: Flag = None, reduce: Flag = None, reduction: str = "mean"
) -> Tensor:
    """``log(1 + exp(-target * input))`` with targets 1 and -1."""
    return losses.soft_margin_loss(input, target, reduction_of(size_average, reduce, reduction))


def multilabel_soft_margin_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: Flag = None,
    reduce: Flag = None,
    reduction: str = "mean",
) -> Tensor:
    """The mean over the last axis of the binary cross entropy of logits and targets 0 and 1."""
    return losses.multilabel_soft_margin_loss(input, target, weight, reduction_of(size_average, reduce, reduction))


@in_float32
@typed(input1=Tensor, input2=Tensor, target=Tensor, reduction=str)
def cosine_embedding_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float = 0,
    size_average: Flag = None,
    reduce: Flag = None,
    reduction: str = "mean",
) -> Tensor:
    """``1 - cos`` of the vectors where the target is 1, ``max(cos - margin, 0)`` where it is -1."""
    return losses.cosine_embedding_loss(input1, input2, target, margin, reduction_of(size_average, reduce, reduction))


@in_float32
@typed(input1=Tensor, input2=Tensor, target=Tensor, reduction=str)
def margin_ranking_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float = 0,
    size_average: Flag = None,
    reduce: Flag = None,
    reduction: str = "mean",
) -> Tensor:
    """``max(-target * (input1 - input2) + margin, 0)``."""
    return losses.margin_ranking_loss(input1, input2, target, margin, reduction_of(size_average, reduce, reduction))


@in_float32
@typed(input=Tensor, target=Tensor, reduction=str)
def multi_margin_loss(
    input: Tensor,
    target: Tensor,
    p: int = 1,
    margin: float = 1.0,
    weight: Tensor | None = None,
    size_average: Flag = None,
    reduce: Flag = None,
    reduction: str = "mean",
) -> Tensor:
    """The mean over the classes of ``max(margin - x[target] + x, 0)**p``, without the class of the target."""
    found = losses.multi_margin_loss(input, target, p, margin, weight, reduction_of(size_average, reduce, reduction))
    return ops.reshape(found, target.shape) if reduction_of(size_average, reduce, reduction) == "none" else found


@in_float32
@typed(input=Tensor, target=Tensor, reduction=str)
def multilabel_margin_loss(
    input: Tensor, target: Tensor, size_average: Flag = None, reduce: Flag = None, reduction: str = "mean"
) -> Tensor:
    """The sum of ``max(1 - x[label] + x[other], 0)`` over labels and other classes, divided by their number.

    The labels of a row are those before its first -1.
    """
    return losses.multilabel_margin_loss(input, target, reduction_of(size_average, reduce, reduction))


@in_float32
@typed(anchor=Tensor, positive=Tensor, negative=Tensor, reduction=str)
def triplet_margin_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    margin: float = 1.0,
    p: float = 2,
    eps: float = 1e-06,
    swap: bool = False,
    size_average: Flag = None,
    reduce: Flag = None,
    reduction: str = "mean",
) -> Tensor:
    """``max(d(anchor, positive) - d(anchor, negative) + margin, 0)`` with the distance of the ``p``-norm.

    With ``swap`` the negative is compared with the anchor or the positive, whichever is nearer.

    Raises ``ValueError`` where the margin is not positive.
    """
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    return losses.triplet_margin_loss(
        anchor, positive, negative, margin, p, eps, swap, reduction_of(size_average, reduce, reduction)
    )


@typed(anchor=Tensor, positive=Tensor, negative=Tensor)
def triplet_margin_with_distance_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    *,
    distance_function: Callable[[Tensor, Tensor], Tensor] | None = None,
    margin: float = 1.0,
    swap: bool = False,
    reduction: str = "mean",
) -> Tensor:
    """:func:`triplet_margin_loss` with another distance, by default that of the 2-norm."""
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    return losses.triplet_margin_with_distance_loss(
        anchor, positive, negative, distance_function, margin, swap, reduction
    )


@in_float32
@typed(log_probs=Tensor, reduction=str)
def ctc_loss(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Any,
    target_lengths: Any,
    blank: int = 0,
    reduction: str = "mean",
    zero_infinity: bool = False,
) -> Tensor:
    """Minus the logarithm of the probability of all paths to the targets: connectionist temporal classification.

    ``log_probs`` are [time, batch, classes], or [time, classes] of one sample; the targets are [batch, most] or all in
    one vector. An impossible target has an infinite loss, or none with ``zero_infinity``. Its derivative is that of the
    formula, so that it is right for any numbers; torch's has the softmax's that came before.
    """
    if log_probs.ndim == 2:
        one = ctc_loss(
            ops.expand_dims(log_probs, 1), targets, input_lengths, target_lengths, blank, reduction, zero_infinity
        )
        return ops.reshape(one, [])
    return losses.ctc_loss(log_probs, targets, input_lengths, target_lengths, blank, reduction, zero_infinity)
