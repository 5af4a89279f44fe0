"""Channels as pixels."""

from __future__ import annotations

from ferrograd._kit import public as _public
from ferrograd.torch.nn import functional as F
from ferrograd.torch.nn.modules._layer import Layer

__all__ = ["PixelShuffle", "PixelUnshuffle"]


class PixelShuffle(Layer, function=F.pixel_shuffle, shown="upscale_factor={upscale_factor}"):
    """[…, C * r**2, H, W] as […, C, H * r, W * r] with the factor r."""


class PixelUnshuffle(Layer, function=F.pixel_unshuffle, shown="downscale_factor={downscale_factor}"):
    """[…, C, H * r, W * r] as […, C * r**2, H, W] with the factor r."""


__dir__ = _public.names(globals())
