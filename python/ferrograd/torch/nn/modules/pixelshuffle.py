"""Channels as pixels."""

from __future__ import annotations

from ferrograd import _public
from ferrograd.torch.nn import functional as F
from ferrograd.torch.nn.modules._layer import Layer

__all__ = ["PixelShuffle", "PixelUnshuffle"]


class PixelShuffle(Layer, function=F.pixel_shuffle, shown="upscale_factor={upscale_factor}"):
    """[…, C * r**2, H, W] as […, C, H * r, W * r] with the factor r.

    >>> import ferrograd.torch as torch
    >>> torch.nn.PixelShuffle(2)(torch.ones(1, 4, 6, 6)).shape
    torch.Size([1, 1, 12, 12])
    """


class PixelUnshuffle(Layer, function=F.pixel_unshuffle, shown="downscale_factor={downscale_factor}"):
    """[…, C, H * r, W * r] as […, C * r**2, H, W] with the factor r.

    >>> import ferrograd.torch as torch
    >>> torch.nn.PixelUnshuffle(2)(torch.ones(1, 1, 4, 6)).shape
    torch.Size([1, 4, 2, 3])
    """


__dir__ = _public.names(globals())
