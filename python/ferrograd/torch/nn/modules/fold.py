"""Windows of images as columns, and back."""

from __future__ import annotations

from ferrograd._kit import public as _public
from ferrograd.torch.nn import functional as F
from ferrograd.torch.nn.modules._layer import Layer

__all__ = ["Fold", "Unfold"]

_WINDOWS = "kernel_size={kernel_size}, dilation={dilation}, padding={padding}, stride={stride}"


class Fold(Layer, function=F.fold, shown="output_size={output_size}, " + _WINDOWS):
    """The sum of columns, each put back to the window of an image that it comes from."""


class Unfold(Layer, function=F.unfold, shown=_WINDOWS):
    """The windows of images as columns."""


__dir__ = _public.names(globals())
