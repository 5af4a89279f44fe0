"""Distances of vectors."""

from __future__ import annotations

from ferrograd import _public
from ferrograd.torch._tensor import Tensor
from ferrograd.torch.nn import functional as F
from ferrograd.torch.nn.modules._layer import Layer
from ferrograd.torch.nn.modules.module import Module

__all__ = ["CosineSimilarity", "PairwiseDistance"]


class PairwiseDistance(Module):
    """The ``p``-norm of the difference of vectors along the last axis.

    >>> import ferrograd.torch as torch
    >>> torch.nn.PairwiseDistance()(torch.tensor([[0.2, 0.8], [0.6, 0.4]]), torch.tensor([[0.0, 1.0], [1.0, 0.0]]))
    tensor([0.2828, 0.5657])
    """

    def __init__(self, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> None:
        super().__init__()
        self.norm, self.eps, self.keepdim = p, eps, keepdim

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        """The distances."""
        return F.pairwise_distance(x1, x2, self.norm, self.eps, self.keepdim)


class CosineSimilarity(Layer, function=F.cosine_similarity, inputs=2):
    """The cosine of the angle between vectors along an axis.

    >>> import ferrograd.torch as torch
    >>> torch.nn.CosineSimilarity()(torch.tensor([[0.2, 0.8], [0.6, 0.4]]), torch.tensor([[0.0, 1.0], [1.0, 0.0]]))
    tensor([0.9701, 0.8321])
    """


__dir__ = _public.names(globals())
