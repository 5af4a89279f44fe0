"""Dropout."""

from __future__ import annotations

from typing import Any

from ferrograd._kit import public as _public
from ferrograd.torch._tensor import Tensor
from ferrograd.torch.nn import functional as F
from ferrograd.torch.nn.modules._layer import Layer

__all__ = ["AlphaDropout", "Dropout", "Dropout1d", "Dropout2d", "Dropout3d", "FeatureAlphaDropout"]


class _DropoutNd(Layer, shown="p={p}, inplace={inplace}"):
    def _fg_keep(self, arguments: dict[str, Any]) -> None:
        p = arguments["p"]
        if isinstance(p, str) or not 0 <= p <= 1:
            raise ValueError(f"dropout probability has to be between 0 and 1, but got {p!r}")
        super()._fg_keep(arguments)


class Dropout(_DropoutNd, function=F.dropout):
    """In training sets elements to zero with probability ``p`` and divides the others by ``1 - p``."""


class Dropout1d(_DropoutNd, function=F.dropout1d):
    """Dropout of whole channels of sequences."""


class Dropout2d(_DropoutNd, function=F.dropout2d):
    """Dropout of whole channels of images."""


class Dropout3d(_DropoutNd, function=F.dropout3d):
    """Dropout of whole channels of volumes."""


class _AlphaDropoutNd(_DropoutNd):
    def _fg_call(self, input: Tensor) -> Tensor:
        dropped: Tensor = self._fg_function(input, self.p, self.training)
        return dropped


class AlphaDropout(_AlphaDropoutNd, function=F.alpha_dropout):
    """Dropout that keeps mean 0 and variance 1, for networks of SELU.

    As in PyTorch, ``inplace`` does not write to the input.
    """


class FeatureAlphaDropout(_AlphaDropoutNd, function=F.feature_alpha_dropout):
    """Alpha dropout of whole channels. As in PyTorch, ``inplace`` does not write to the input."""


__dir__ = _public.names(globals())
