"""The softmax of many classes in clusters by how frequent they are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ferrograd import _core
from ferrograd._kit import public as _public
from ferrograd._kit.dialect import TORCH
from ferrograd._kit.ops import ops
from ferrograd.torch._tensor import Tensor
from ferrograd.torch.nn import functional as F
from ferrograd.torch.nn.modules.container import ModuleList, Sequential
from ferrograd.torch.nn.modules.linear import Linear
from ferrograd.torch.nn.modules.module import Module

__all__ = ["AdaptiveLogSoftmaxWithLoss"]


class _ASMoutput(NamedTuple):
    """The log-probability of each target, and minus their mean."""

    output: Tensor
    loss: Tensor


class AdaptiveLogSoftmaxWithLoss(Module):
    """The adaptive softmax of E. Grave et al., "Efficient softmax approximation for GPUs" (2017).

    Class numbers below ``cutoffs[0]`` are in the head, the others in clusters, whose vectors have ``div_value`` times
    fewer features from cluster to cluster.

    >>> import ferrograd.torch as torch
    >>> layer = torch.nn.AdaptiveLogSoftmaxWithLoss(16, 10, cutoffs=[2, 6])
    >>> layer.log_prob(torch.zeros(3, 16)).exp().sum(1).tolist()
    [1.0..., 1.0..., 1.0...]
    """

    def __init__(
        self,
        in_features: int,
        n_classes: int,
        cutoffs: Sequence[int],
        div_value: float = 4.0,
        head_bias: bool = False,
        device: object = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        found = list(cutoffs)
        if not found:
            raise ValueError("cutoffs should be a sequence of length larger than 0")
        if found != sorted(set(found)) or found[0] <= 0 or found[-1] > n_classes - 1 or any(int(c) != c for c in found):
            raise ValueError(
                "cutoffs should be a sequence of unique, positive integers sorted in an increasing order, where each "
                "value is between 1 and n_classes-1"
            )
        self.in_features, self.n_classes, self.div_value, self.head_bias = in_features, n_classes, div_value, head_bias
        self.cutoffs = [*found, n_classes]
        self.shortlist_size, self.n_clusters = self.cutoffs[0], len(found)
        self.head_size = self.shortlist_size + self.n_clusters
        made: dict[str, Any] = {"device": device, "dtype": dtype}
        self.head = Linear(in_features, self.head_size, head_bias, **made)
        self.tail = ModuleList()
        for i in range(self.n_clusters):
            inner, outer = int(in_features // div_value ** (i + 1)), self.cutoffs[i + 1] - self.cutoffs[i]
            parts = (Linear(in_features, inner, False, **made), Linear(inner, outer, False, **made))
            self.tail.append(Sequential(*parts))

    def reset_parameters(self) -> None:
        """Draws all weights anew."""
        self.head.reset_parameters()
        for first, second in self.tail:
            first.reset_parameters()
            second.reset_parameters()

    def forward(self, input_: Tensor, target_: Tensor) -> _ASMoutput:
        """The log-probability of the class of each row of ``input_`` [batch, features], and minus their mean."""
        alone = target_.ndim == 0
        if (input_.ndim, target_.ndim) not in ((2, 1), (1, 0)):
            raise RuntimeError("1D target tensor expects 2D input tensors, 0D target tensor expects 1D input tensors")
        rows, target = (ops.expand_dims(input_, 0), ops.expand_dims(target_, 0)) if alone else (input_, target_)
        if rows.shape[0] != target.shape[0]:
            raise RuntimeError("Input and target should have the same size in the batch dimension.")
        labels = target.detach().numpy()
        if labels.size and not (labels.min() >= 0 and labels.max() < self.n_classes):
            raise RuntimeError(
                f"Target values should be in [0, {self.n_classes - 1}], but values in range [{labels.min()}, "
                f"{labels.max()}] were found. "
            )
        head = F.log_softmax(self.head(rows), 1)
        cluster = np.searchsorted(self.cutoffs[:-1], labels, side="right")
        places = np.where(cluster == 0, labels, self.shortlist_size + cluster - 1)
        output = head[np.arange(len(labels)), places]
        for i in range(self.n_clusters):
            chosen = np.flatnonzero(cluster == i + 1)
            if len(chosen):
                own = F.log_softmax(self.tail[i](rows[chosen]), 1)
                inside = own[np.arange(len(chosen)), labels[chosen] - self.cutoffs[i]]
                output = ops.index_add(output, 0, _core.make(chosen, None, False, TORCH), inside)
        loss = -ops.mean(output)
        return _ASMoutput(output[0] if alone else output, loss)

    def log_prob(self, input: Tensor) -> Tensor:
        """The log-probabilities of all classes: [batch, classes]."""
        head = F.log_softmax(self.head(input), 1)
        parts = [head[:, : self.shortlist_size]]
        for i, tail in enumerate(self.tail):
            own = F.log_softmax(tail(input), 1)
            parts.append(own + head[:, self.shortlist_size + i : self.shortlist_size + i + 1])
        return ops.concat(parts, 1)

    def predict(self, input: Tensor) -> Tensor:
        """The most likely class of each row."""
        return ops.argmax(self.log_prob(input), 1)


__dir__ = _public.names(globals())
