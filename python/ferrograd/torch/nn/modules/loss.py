"""Losses: layers of the functions with nearly the same names."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any

from ferrograd._core import ArgumentError, ShapeError
from ferrograd._kit import public as _public
from ferrograd.torch._tensor import Tensor
from ferrograd.torch.nn import functional as F
from ferrograd.torch.nn._functional.losses import reduction_of
from ferrograd.torch.nn.modules._layer import Layer
from ferrograd.torch.nn.modules.distance import PairwiseDistance
from ferrograd.torch.nn.modules.linear import Linear
from ferrograd.torch.nn.modules.module import Module

__all__ = [
    "BCELoss",
    "BCEWithLogitsLoss",
    "CTCLoss",
    "CosineEmbeddingLoss",
    "CrossEntropyLoss",
    "GaussianNLLLoss",
    "HingeEmbeddingLoss",
    "HuberLoss",
    "KLDivLoss",
    "L1Loss",
    "LinearCrossEntropyLoss",
    "LinearCrossEntropyOptions",
    "MSELoss",
    "MarginRankingLoss",
    "MultiLabelMarginLoss",
    "MultiLabelSoftMarginLoss",
    "MultiMarginLoss",
    "NLLLoss",
    "NLLLoss2d",
    "PoissonNLLLoss",
    "SmoothL1Loss",
    "SoftMarginLoss",
    "TripletMarginLoss",
    "TripletMarginWithDistanceLoss",
]

_REDUCTION = ("size_average", "reduce", "reduction")


class _Loss(
    Layer,
    function=lambda *given, size_average=None, reduce=None, reduction="mean": None,
    inputs=1,
    parameters=_REDUCTION,
):
    """The base of losses. Weights are buffers, and ``reduction`` stands for the deprecated flags too."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls._fg_names = tuple(name for name in cls._fg_names if name not in ("size_average", "reduce"))

    def _fg_keep(self, arguments: dict[str, Any]) -> None:
        flags = [arguments.pop(name, None) for name in ("size_average", "reduce")]
        arguments["reduction"] = reduction_of(flags[0], flags[1], arguments["reduction"])
        for name in ("weight", "pos_weight"):
            if name in arguments:
                self.register_buffer(name, arguments.pop(name))
        super()._fg_keep(arguments)


class _WeightedLoss(
    _Loss,
    function=lambda *given, weight=None, size_average=None, reduce=None, reduction="mean": None,
    inputs=1,
    parameters=("weight", *_REDUCTION),
):
    """The base of losses with a weight for each class or element."""


class L1Loss(_Loss, function=F.l1_loss, inputs=2, parameters=_REDUCTION):
    """The absolute difference of predictions and targets."""


class MSELoss(_Loss, function=F.mse_loss, inputs=2, parameters=_REDUCTION):
    """The squared difference of predictions and targets.

    >>> import ferrograd.torch as torch
    >>> torch.nn.MSELoss()(torch.tensor([1.0, 3.0]), torch.tensor([1.0, 1.0])).item()
    2.0
    """


class NLLLoss(_WeightedLoss, function=F.nll_loss, inputs=2):
    """The negative log-likelihood of each sample's class, from log-probabilities along axis 1."""


class NLLLoss2d(NLLLoss):
    """The old name of :class:`NLLLoss` for images."""


class CrossEntropyLoss(_WeightedLoss, function=F.cross_entropy, inputs=2):
    """The cross entropy of logits along axis 1 and targets: class indices or probabilities."""


@dataclass(frozen=True)
class LinearCrossEntropyOptions:
    """How PyTorch computes ``linear_cross_entropy`` in pieces. They change nothing here, where it is one product.

    >>> import ferrograd.torch as torch
    >>> torch.nn.LinearCrossEntropyOptions(batch_chunk_size=64).batch_chunk_size
    64
    """

    allow_retain_graph: bool = False
    batch_chunk_size: int | None = None
    chunking_method: str | None = "auto"
    acc_policy: str = "auto"
    acc_dtype: Any = None


class LinearCrossEntropyLoss(Module):
    """The cross entropy of a linear layer's logits and targets, by :func:`nn.functional.linear_cross_entropy`.

    The layer is ``linear``, of ``num_classes`` outputs for each element of the shape ``out_features``.

    >>> import ferrograd.torch as torch
    >>> loss = torch.nn.LinearCrossEntropyLoss(4, 3)
    >>> loss(torch.ones(2, 4), torch.tensor([0, 2])).shape
    torch.Size([])
    """

    weight: Tensor | None

    def __init__(
        self,
        in_features: int,
        num_classes: int,
        *,
        out_features: Sequence[int] = (),
        bias: bool = False,
        device: object = None,
        dtype: Any = None,
        reduction: str = "mean",
        weight: Tensor | None = None,
        ignore_index: int | None = None,
        label_smoothing: float = 0.0,
        options: LinearCrossEntropyOptions | None = None,
    ) -> None:
        if weight is not None and tuple(weight.shape) != (num_classes,):
            raise ShapeError(f"LinearCrossEntropyLoss: weight has the shape {list(weight.shape)}, not [{num_classes}]")
        if not 0 <= label_smoothing <= 1:
            raise ArgumentError(f"LinearCrossEntropyLoss: label_smoothing lies between 0 and 1, not {label_smoothing}")
        super().__init__()
        self.num_classes, self.out_features = num_classes, tuple(out_features)
        self.reduction, self.ignore_index, self.label_smoothing = reduction, ignore_index, label_smoothing
        self.options = options
        self.register_buffer("weight", weight)
        self.linear = Linear(in_features, math.prod(out_features, start=num_classes), bias, device, dtype)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """The loss."""
        shape, bias = [self.num_classes, *self.out_features], self.linear.bias
        return F.linear_cross_entropy(
            input,
            self.linear.weight.reshape([*shape, -1]),
            target,
            linear_bias=None if bias is None else bias.reshape(shape),
            weight=self.weight,
            reduction=self.reduction,
            ignore_index=self.ignore_index,
            label_smoothing=self.label_smoothing,
            options=self.options,
        )

    def extra_repr(self) -> str:
        """The sizes of the layer and what the loss is."""
        return f"num_classes={self.num_classes}, out_features={self.out_features}, reduction={self.reduction!r}"


class PoissonNLLLoss(_Loss, function=F.poisson_nll_loss, inputs=2):
    """The negative log-likelihood of counts of a Poisson distribution."""

    def forward(self, log_input: Tensor, target: Tensor) -> Tensor:
        """The loss."""
        given = {name: getattr(self, name) for name in self._fg_names}
        return F.poisson_nll_loss(log_input, target, **given)


class GaussianNLLLoss(_Loss, function=F.gaussian_nll_loss, inputs=3):
    """The negative log-likelihood of targets of a normal distribution with given means and variances."""


class KLDivLoss(_Loss, function=F.kl_div, inputs=2):
    """The Kullback-Leibler divergence of log-probabilities from targets."""


class BCELoss(_WeightedLoss, function=F.binary_cross_entropy, inputs=2):
    """The binary cross entropy of probabilities and targets in [0, 1]."""


class BCEWithLogitsLoss(_Loss, function=F.binary_cross_entropy_with_logits, inputs=2):
    """The binary cross entropy of the sigmoid of the inputs and targets in [0, 1]."""


class HingeEmbeddingLoss(_Loss, function=F.hinge_embedding_loss, inputs=2):
    """The input where the target is 1, ``max(margin - input, 0)`` where it is -1."""


class MultiLabelMarginLoss(_Loss, function=F.multilabel_margin_loss, inputs=2):
    """The hinge loss of several labels for each sample."""


class CTCLoss(_Loss, function=F.ctc_loss, inputs=4, parameters=("blank", "reduction", "zero_infinity")):
    """The loss of connectionist temporal classification: of all paths to the targets."""


class SmoothL1Loss(_Loss, function=F.smooth_l1_loss, inputs=2):
    """``d**2 / (2 * beta)`` where the absolute difference ``d`` is below ``beta``, else ``d - beta / 2``."""


class HuberLoss(_Loss, function=F.huber_loss, inputs=2, parameters=("reduction", "delta")):
    """``d**2 / 2`` where the absolute difference ``d`` is below ``delta``, else ``delta * (d - delta / 2)``."""

    def _fg_keep(self, arguments: dict[str, Any]) -> None:
        if not isinstance(arguments["delta"], Real):
            raise TypeError(f"delta must be a float or int, got: {type(arguments['delta'])}")
        super()._fg_keep(arguments)


class SoftMarginLoss(_Loss, function=F.soft_margin_loss, inputs=2):
    """``log(1 + exp(-target * input))`` with targets 1 and -1."""


class MultiLabelSoftMarginLoss(_WeightedLoss, function=F.multilabel_soft_margin_loss, inputs=2):
    """The mean over the classes of the binary cross entropy of logits and targets 0 and 1."""


class CosineEmbeddingLoss(_Loss, function=F.cosine_embedding_loss, inputs=3, defaults={"margin": 0.0}):
    """``1 - cos`` of pairs of vectors where the target is 1, ``max(cos - margin, 0)`` where it is -1."""


class MarginRankingLoss(_Loss, function=F.margin_ranking_loss, inputs=3, defaults={"margin": 0.0}):
    """``max(-target * (input1 - input2) + margin, 0)``."""


class MultiMarginLoss(_WeightedLoss, function=F.multi_margin_loss, inputs=2):
    """The hinge loss of the class of each sample."""

    def _fg_keep(self, arguments: dict[str, Any]) -> None:
        weight = arguments["weight"]
        if arguments["p"] not in (1, 2):
            raise ValueError("only p == 1 and p == 2 supported")
        if weight is not None and weight.ndim != 1:
            raise ValueError(f"MultiMarginLoss: expected weight to be None or 1D tensor, got {weight.ndim}D instead")
        super()._fg_keep(arguments)


class _Triplet(_Loss):
    def _fg_keep(self, arguments: dict[str, Any]) -> None:
        if arguments["margin"] <= 0:
            name, margin = type(self).__name__, arguments["margin"]
            raise ValueError(f"{name}: expected margin to be greater than 0, got {margin} instead")
        super()._fg_keep(arguments)


class TripletMarginLoss(_Triplet, function=F.triplet_margin_loss, inputs=3, defaults={"p": 2.0}):
    """``max(d(anchor, positive) - d(anchor, negative) + margin, 0)`` with the distance of the ``p``-norm."""


class TripletMarginWithDistanceLoss(_Triplet, function=F.triplet_margin_with_distance_loss, inputs=3):
    """:class:`TripletMarginLoss` with a distance of your own."""

    def _fg_keep(self, arguments: dict[str, Any]) -> None:
        if arguments["distance_function"] is None:
            arguments["distance_function"] = PairwiseDistance()
        super()._fg_keep(arguments)


__dir__ = _public.names(globals())
