"""Channels in another order."""

from __future__ import annotations

from ferrograd._kit import public as _public
from ferrograd.torch.nn import functional as F
from ferrograd.torch.nn.modules._layer import Layer

__all__ = ["ChannelShuffle"]


class ChannelShuffle(Layer, function=F.channel_shuffle, shown="groups={groups}"):
    """The channels as a matrix with a row for each group, read by columns."""


__dir__ = _public.names(globals())
