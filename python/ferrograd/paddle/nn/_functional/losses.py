"""Paddle's losses that are made of other functions. Those with an op of their own are in ``functional``."""

from __future__ import annotations

from collections.abc import Callable

from ferrograd._core import ArgumentError, DtypeError, ShapeError, paddle as ops
from ferrograd._functions import losses
from ferrograd._kit import arguments as _arguments
from ferrograd._kit.arguments import typed
from ferrograd.paddle._tensor import Tensor

__all__ = [
    "cosine_embedding_loss",
    "gaussian_nll_loss",
    "hinge_embedding_loss",
    "kl_div",
    "margin_ranking_loss",
    "multi_label_margin_loss",
    "multi_label_soft_margin_loss",
    "multi_margin_loss",
    "poisson_nll_loss",
    "soft_margin_loss",
    "triplet_margin_loss",
    "triplet_margin_with_distance_loss",
]


def poisson_nll_loss(
    input: Tensor,
    label: Tensor,
    log_input: bool = True,
    full: bool = False,
    epsilon: float = 1e-8,
    reduction: str = "mean",
    name: str | None = None,
) -> Tensor:
    """The negative log-likelihood of counts whose rate is ``input``, or with ``log_input`` the exponential of it."""
    if epsilon <= 0:
        raise ArgumentError(f"poisson_nll_loss: epsilon is positive, {epsilon} is not")
    return losses.poisson_nll_loss(input, label, log_input, full, epsilon, reduction)


def gaussian_nll_loss(
    input: Tensor,
    label: Tensor,
    variance: Tensor,
    full: bool = False,
    epsilon: float = 1e-6,
    reduction: str = "mean",
    name: str | None = None,
) -> Tensor:
    """The negative log-likelihood of labels that are normal with mean ``input`` and a variance, which are floats."""
    for name, x in (("input", input), ("label", label), ("variance", variance)):
        if _arguments.tensor(x, "gaussian_nll_loss", name).dtype.kind != "f":
            raise DtypeError(f"gaussian_nll_loss: {name} has floats, not {x.dtype}")
    return losses.gaussian_nll_loss(input, label, variance, full, epsilon, reduction)


def kl_div(
    input: Tensor, label: Tensor, reduction: str = "mean", log_target: bool = False, name: str | None = None
) -> Tensor:
    """``label * (log(label) - input)`` of log-probabilities and probabilities; 0 where the label is not positive.

    With ``log_target`` the labels are log-probabilities too.

    >>> import ferrograd.paddle as paddle
    >>> paddle.nn.functional.kl_div(paddle.to_tensor([0.5]), paddle.to_tensor([-2.0])).item()
    0.0
    """
    if not log_target:
        is_none = ops.less_equal(label, 0)
        input, label = ops.where(is_none, 0.0, input), ops.where(is_none, 0.0, label)
    found: Tensor = ops.kl_div(input, label, reduction, log_target)
    return found


def hinge_embedding_loss(
    input: Tensor, label: Tensor, margin: float = 1.0, reduction: str = "mean", name: str | None = None
) -> Tensor:
    """``input`` where the label is 1, ``max(margin - input, 0)`` where it is -1, and 0 where it is neither."""
    # Where the label is neither the loss of `input` is that of its bound.
    inside = ops.where(ops.equal(ops.abs(label), 1), input, margin)
    return losses.hinge_embedding_loss(inside, ops.where(ops.equal(label, 1), 1, -1), margin, reduction)


@typed(input=Tensor, label=Tensor, reduction=str)
def soft_margin_loss(input: Tensor, label: Tensor, reduction: str = "mean", name: str | None = None) -> Tensor:
    """``log(1 + exp(-label * input))`` with labels 1 and -1."""
    return losses.soft_margin_loss(input, label.astype(input.dtype), reduction)


def multi_label_soft_margin_loss(
    input: Tensor, label: Tensor, weight: Tensor | None = None, reduction: str = "mean", name: str | None = None
) -> Tensor:
    """The mean over the last axis of the binary cross entropy of logits and labels 0 and 1."""
    return losses.multilabel_soft_margin_loss(input, label, weight, reduction)


@typed(input=Tensor, label=Tensor, reduction=str)
def multi_label_margin_loss(input: Tensor, label: Tensor, reduction: str = "mean", name: str | None = None) -> Tensor:
    """The hinge loss of several labels for each row: those before its first -1."""
    return losses.multilabel_margin_loss(input, label, reduction)


@typed(input1=Tensor, input2=Tensor, label=Tensor, reduction=str)
def cosine_embedding_loss(
    input1: Tensor,
    input2: Tensor,
    label: Tensor,
    margin: float = 0,
    reduction: str = "mean",
    name: str | None = None,
) -> Tensor:
    """``1 - cos`` of the vectors where the label is 1, ``max(cos - margin, 0)`` where it is -1.

    The inputs are matrices of one vector for each label, or two vectors for all labels. The margin is from -1 to 1.
    """
    if not -1 <= margin <= 1:
        raise ArgumentError(f"cosine_embedding_loss: margin should be between -1 and 1, not {margin}")
    if input1.ndim == input2.ndim == label.ndim == 1:
        input1, input2 = input1.unsqueeze(0), input2.unsqueeze(0)
    return losses.cosine_embedding_loss(input1, input2, label, margin, reduction)


@typed(input=Tensor, other=Tensor, label=Tensor, reduction=str)
def margin_ranking_loss(
    input: Tensor,
    other: Tensor,
    label: Tensor,
    margin: float = 0.0,
    reduction: str = "mean",
    name: str | None = None,
) -> Tensor:
    """``max(-label * (input - other) + margin, 0)``."""
    return losses.margin_ranking_loss(input, other, label, margin, reduction)


@typed(input=Tensor, label=Tensor, reduction=str)
def multi_margin_loss(
    input: Tensor,
    label: Tensor,
    p: int = 1,
    margin: float = 1.0,
    weight: Tensor | None = None,
    reduction: str = "mean",
    name: str | None = None,
) -> Tensor:
    """The mean over the classes of ``max(margin - x[label] + x, 0)**p``, without the class of the label."""
    return losses.multi_margin_loss(input, label, p, margin, weight, reduction)


def _check_margin(margin: float, function: str) -> None:
    if margin < 0:
        raise ArgumentError(f"{function}: margin is not negative, {margin} is")


@typed(input=Tensor, positive=Tensor, negative=Tensor, reduction=str)
def triplet_margin_loss(
    input: Tensor,
    positive: Tensor,
    negative: Tensor,
    margin: float = 1.0,
    p: float = 2.0,
    epsilon: float = 1e-6,
    swap: bool = False,
    reduction: str = "mean",
    name: str | None = None,
) -> Tensor:
    """``max(d(input, positive) - d(input, negative) + margin, 0)`` with the distance of the ``p``-norm."""
    _check_margin(margin, "triplet_margin_loss")
    if not list(input.shape) == list(positive.shape) == list(negative.shape):
        shapes = ", ".join(str(list(x.shape)) for x in (input, positive, negative))
        raise ShapeError(f"triplet_margin_loss: the three tensors have one shape, not {shapes}")
    return losses.triplet_margin_loss(input, positive, negative, margin, p, epsilon, swap, reduction)


@typed(input=Tensor, positive=Tensor, negative=Tensor, reduction=str)
def triplet_margin_with_distance_loss(
    input: Tensor,
    positive: Tensor,
    negative: Tensor,
    distance_function: Callable[[Tensor, Tensor], Tensor] | None = None,
    margin: float = 1.0,
    swap: bool = False,
    reduction: str = "mean",
    name: str | None = None,
) -> Tensor:
    """:func:`triplet_margin_loss` with another distance, by default that of the 2-norm."""
    _check_margin(margin, "triplet_margin_with_distance_loss")
    given = (input, positive, negative, distance_function, margin, swap, reduction)
    return losses.triplet_margin_with_distance_loss(*given)
