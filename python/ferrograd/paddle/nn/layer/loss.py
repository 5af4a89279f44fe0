"""Losses: layers of the functions with nearly the same names."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

from ferrograd._core import paddle as ops
from ferrograd._kit import public as _public
from ferrograd.paddle._tensor import Tensor
from ferrograd.paddle.nn import functional as F
from ferrograd.paddle.nn.layer.layers import FunctionLayer, Layer

__all__ = [
    "AdaptiveLogSoftmaxWithLoss",
    "BCELoss",
    "BCEWithLogitsLoss",
    "CTCLoss",
    "CosineEmbeddingLoss",
    "CrossEntropyLoss",
    "GaussianNLLLoss",
    "HSigmoidLoss",
    "HingeEmbeddingLoss",
    "KLDivLoss",
    "L1Loss",
    "MSELoss",
    "MarginRankingLoss",
    "MultiLabelMarginLoss",
    "MultiLabelSoftMarginLoss",
    "MultiMarginLoss",
    "NLLLoss",
    "PoissonNLLLoss",
    "RNNTLoss",
    "SmoothL1Loss",
    "SoftMarginLoss",
    "TripletMarginLoss",
    "TripletMarginWithDistanceLoss",
]


class _Loss(FunctionLayer):
    """The base of losses, which checks the reduction. ``repr`` shows no arguments."""

    def _fg_keep(self, arguments: dict[str, Any]) -> None:
        reduction = arguments["reduction"]
        if reduction not in ("sum", "mean", "none", "batchmean"):
            raise ValueError(
                f"The value of 'reduction' in {type(self).__name__} should be 'sum', 'mean' or 'none', but received "
                f"{reduction}, which is not allowed."
            )
        super()._fg_keep(arguments)


class CrossEntropyLoss(_Loss, function=F.cross_entropy, inputs=2):
    """The cross entropy of logits along an axis and labels: class indices or probabilities.

    >>> import ferrograd.paddle as paddle
    >>> logits, labels = paddle.zeros([2, 4]), paddle.to_tensor([1, 3])
    >>> round(paddle.nn.CrossEntropyLoss()(logits, labels).item(), 4)
    1.3863
    """


class MSELoss(_Loss, function=F.mse_loss, inputs=("input", "label"), parameters=("reduction",)):
    """The squared difference of predictions and labels."""


class L1Loss(_Loss, function=F.l1_loss, inputs=2):
    """The absolute difference of predictions and labels."""


class NLLLoss(
    _Loss, function=F.nll_loss, inputs=("input", "label"), parameters=("weight", "ignore_index", "reduction", "name")
):
    """The negative log-likelihood of each sample's class, from log-probabilities along axis 1."""


class KLDivLoss(_Loss, function=F.kl_div, inputs=2, parameters=("reduction", "log_target")):
    """The Kullback-Leibler divergence of log-probabilities from labels."""


class BCELoss(_Loss, function=F.binary_cross_entropy, inputs=2):
    """The binary cross entropy of probabilities and labels in [0, 1]."""


class BCEWithLogitsLoss(_Loss, function=F.binary_cross_entropy_with_logits, inputs=2):
    """The binary cross entropy of the sigmoid of the inputs and labels in [0, 1]."""


class SmoothL1Loss(_Loss, function=F.smooth_l1_loss, inputs=2):
    """``d**2 / 2`` where the absolute difference ``d`` is below ``delta``, else linear."""


class PoissonNLLLoss(_Loss, function=F.poisson_nll_loss, inputs=2):
    """The negative log-likelihood of counts of a Poisson distribution."""


class GaussianNLLLoss(_Loss, function=F.gaussian_nll_loss, inputs=3):
    """The negative log-likelihood of labels of a normal distribution with given means and variances."""


class HingeEmbeddingLoss(_Loss, function=F.hinge_embedding_loss, inputs=2):
    """The input where the label is 1, ``max(margin - input, 0)`` where it is -1."""


class CTCLoss(_Loss, function=F.ctc_loss, inputs=4, parameters=("blank", "reduction", "zero_infinity")):
    """The loss of connectionist temporal classification: of all paths to the labels."""

    def forward(
        self, log_probs: Any, labels: Any, input_lengths: Any, label_lengths: Any, norm_by_times: bool = False
    ) -> Any:
        """The loss of scores [time, batch, classes]."""
        lengths = (input_lengths, label_lengths)
        return F.ctc_loss(log_probs, labels, *lengths, self.blank, self.reduction, norm_by_times, self.zero_infinity)


class RNNTLoss(_Loss, function=F.rnnt_loss, inputs=4, parameters=("blank", "fastemit_lambda", "reduction")):
    """The loss of a transducer: of all paths to the labels."""


class SoftMarginLoss(_Loss, function=F.soft_margin_loss, inputs=2):
    """``log(1 + exp(-label * input))`` with labels 1 and -1."""


class MultiLabelSoftMarginLoss(_Loss, function=F.multi_label_soft_margin_loss, inputs=2):
    """The mean over the classes of the binary cross entropy of logits and labels 0 and 1."""


class MultiLabelMarginLoss(_Loss, function=F.multi_label_margin_loss, inputs=2):
    """The hinge loss of several labels for each sample."""


class MultiMarginLoss(_Loss, function=F.multi_margin_loss, inputs=2):
    """The hinge loss of the class of each sample."""


class CosineEmbeddingLoss(_Loss, function=F.cosine_embedding_loss, inputs=3):
    """``1 - cos`` of pairs of vectors where the label is 1, ``max(cos - margin, 0)`` where it is -1."""


class MarginRankingLoss(_Loss, function=F.margin_ranking_loss, inputs=3):
    """``max(-label * (input - other) + margin, 0)``."""


class TripletMarginLoss(_Loss, function=F.triplet_margin_loss, inputs=3):
    """``max(d(input, positive) - d(input, negative) + margin, 0)`` with the distance of the ``p``-norm."""


class TripletMarginWithDistanceLoss(_Loss, function=F.triplet_margin_with_distance_loss, inputs=3):
    """:class:`TripletMarginLoss` with a distance of your own."""


class HSigmoidLoss(Layer):
    """The loss of :func:`paddle.nn.functional.hsigmoid_loss` with its weight and bias."""

    def __init__(
        self,
        feature_size: int,
        num_classes: int,
        weight_attr: Any = None,
        bias_attr: Any = None,
        is_custom: bool = False,
        is_sparse: bool = False,
        name: str | None = None,
    ) -> None:
        super().__init__()
        if num_classes < 2 and not is_custom:
            raise ValueError("num_classes must not be less than 2 with default tree")
        rows = num_classes if is_custom else num_classes - 1
        self._num_classes = num_classes
        self.weight = self.create_parameter([rows, feature_size], weight_attr)
        self.bias = self.create_parameter([rows, 1], bias_attr, is_bias=True)

    def forward(self, input: Tensor, label: Tensor, path_table: Any = None, path_code: Any = None) -> Tensor:
        """The loss [batch, 1]."""
        bias = None if self.bias is None else self.bias.reshape([-1])
        return F.hsigmoid_loss(input, label, self._num_classes, self.weight, bias, path_table, path_code)


class AdaptiveLogSoftmaxWithLoss(Layer):
    """:func:`paddle.nn.functional.adaptive_log_softmax_with_loss` with its weights.

    Classes below the first cutoff are in the head. The features of each further group are ``div_value`` times fewer.
    """

    def __init__(
        self,
        in_features: int,
        n_classes: int,
        cutoffs: Sequence[int],
        weight_attr: Any = None,
        bias_attr: Any = None,
        div_value: float = 4.0,
        head_bias: bool = False,
        name: str | None = None,
    ) -> None:
        super().__init__()
        found = list(cutoffs)
        if not found or found != sorted(set(found)) or found[0] < 1 or found[-1] >= n_classes:
            raise ValueError(
                "cutoffs should be a sequence of unique, positive integers in increasing order, below n_classes"
            )
        self.in_features, self.n_classes, self.cutoffs = in_features, n_classes, [*found, n_classes]
        #: How many classes the head has, how many groups there are besides, and how many entries the head has for both.
        self.shortlist_size, self.n_clusters = self.cutoffs[0], len(found)
        self.head_size = self.shortlist_size + self.n_clusters
        head = found[0] + len(found)
        self.head_weight = self.create_parameter([in_features, head], weight_attr)
        self.head_bias = self.create_parameter([head], bias_attr, is_bias=True) if head_bias else None
        self.tail_weights = []
        for i, (low, high) in enumerate(itertools.pairwise(self.cutoffs)):
            inner = int(in_features // div_value ** (i + 1))
            pair = [self.create_parameter(shape, weight_attr) for shape in ([in_features, inner], [inner, high - low])]
            self.tail_weights.append(pair)
            for j, weight in enumerate(pair):
                self.add_parameter(f"tail_weight_{i}_{j}", weight)

    def forward(self, input: Tensor, label: Tensor) -> tuple[Tensor, Tensor]:
        """The logarithm of the probability of each label, and minus their mean."""
        weights = (self.head_weight, self.tail_weights, self.cutoffs, self.head_bias)
        return F.adaptive_log_softmax_with_loss(input, label, *weights)

    def log_prob(self, input: Tensor) -> Tensor:
        """The logarithms of the probabilities of all classes: [batch, classes]."""
        head = F.log_softmax(F.linear(input, self.head_weight, self.head_bias), 1)
        parts = [head[:, : self.cutoffs[0]]]
        for i, (first, second) in enumerate(self.tail_weights):
            rank = head[:, self.cutoffs[0] + i : self.cutoffs[0] + i + 1]
            parts.append(rank + F.log_softmax(F.linear(F.linear(input, first), second), 1))
        return ops.concat(parts, 1)

    def predict(self, input: Tensor) -> Tensor:
        """The most probable class of each row."""
        return ops.argmax(self.log_prob(input), 1)


__dir__ = _public.names(globals())
