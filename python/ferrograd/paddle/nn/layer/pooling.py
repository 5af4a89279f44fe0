"""Pools."""

from __future__ import annotations

from ferrograd._kit import public as _public
from ferrograd.paddle.nn import functional as F
from ferrograd.paddle.nn.layer.layers import FunctionLayer

__all__ = [
    "AdaptiveAvgPool1D",
    "AdaptiveAvgPool2D",
    "AdaptiveAvgPool3D",
    "AdaptiveMaxPool1D",
    "AdaptiveMaxPool2D",
    "AdaptiveMaxPool3D",
    "AvgPool1D",
    "AvgPool2D",
    "AvgPool3D",
    "FractionalMaxPool2D",
    "FractionalMaxPool3D",
    "LPPool1D",
    "LPPool2D",
    "MaxPool1D",
    "MaxPool2D",
    "MaxPool3D",
    "MaxUnPool1D",
    "MaxUnPool2D",
    "MaxUnPool3D",
]

_WINDOW = "kernel_size={kernel_size}, stride={stride}, padding={padding}"
_SIZE = "output_size={output_size}"
_MASK = _SIZE + ", return_mask={return_mask}"


class AvgPool1D(FunctionLayer, function=F.avg_pool1d, shown=_WINDOW):
    """The mean of each window of sequences."""


class AvgPool2D(FunctionLayer, function=F.avg_pool2d, shown=_WINDOW):
    """The mean of each window of images."""


class AvgPool3D(FunctionLayer, function=F.avg_pool3d, shown=_WINDOW):
    """The mean of each window of volumes."""


class MaxPool1D(FunctionLayer, function=F.max_pool1d, shown=_WINDOW):
    """The largest element of each window of sequences; with ``return_mask`` also its position."""


class MaxPool2D(FunctionLayer, function=F.max_pool2d, shown=_WINDOW):
    """The largest element of each window of images; with ``return_mask`` also its position."""


class MaxPool3D(FunctionLayer, function=F.max_pool3d, shown=_WINDOW):
    """The largest element of each window of volumes; with ``return_mask`` also its position."""


class FractionalMaxPool2D(FunctionLayer, function=F.fractional_max_pool2d, shown=_MASK):
    """The largest element of each window of images, at random places."""


class FractionalMaxPool3D(FunctionLayer, function=F.fractional_max_pool3d, shown=_MASK):
    """The largest element of each window of volumes, at random places."""


class LPPool1D(FunctionLayer, function=F.lp_pool1d, shown="norm_type={norm_type}, " + _WINDOW):
    """``sum(x ** norm_type) ** (1 / norm_type)`` over each window of sequences."""


class LPPool2D(FunctionLayer, function=F.lp_pool2d, shown="norm_type={norm_type}, " + _WINDOW):
    """``sum(x ** norm_type) ** (1 / norm_type)`` over each window of images."""


class MaxUnPool1D(FunctionLayer, function=F.max_unpool1d, inputs=2, shown="output_size={output_size}"):
    """Sequences in which the maxima of windows are at their old positions, and zeros elsewhere."""


class MaxUnPool2D(FunctionLayer, function=F.max_unpool2d, inputs=2, shown="output_size={output_size}"):
    """Images in which the maxima of windows are at their old positions, and zeros elsewhere."""


class MaxUnPool3D(FunctionLayer, function=F.max_unpool3d, inputs=2, shown="output_size={output_size}"):
    """Volumes in which the maxima of windows are at their old positions, and zeros elsewhere."""


class AdaptiveAvgPool1D(FunctionLayer, function=F.adaptive_avg_pool1d, shown=_SIZE):
    """The means of ``output_size`` nearly equal parts of sequences."""


class AdaptiveAvgPool2D(FunctionLayer, function=F.adaptive_avg_pool2d, shown=_SIZE):
    """The means of ``output_size`` nearly equal parts of images."""


class AdaptiveAvgPool3D(FunctionLayer, function=F.adaptive_avg_pool3d, shown=_SIZE):
    """The means of ``output_size`` nearly equal parts of volumes."""


class AdaptiveMaxPool1D(FunctionLayer, function=F.adaptive_max_pool1d, shown=_MASK):
    """The largest elements of ``output_size`` nearly equal parts of sequences."""


class AdaptiveMaxPool2D(FunctionLayer, function=F.adaptive_max_pool2d, shown=_MASK):
    """The largest elements of ``output_size`` nearly equal parts of images."""


class AdaptiveMaxPool3D(FunctionLayer, function=F.adaptive_max_pool3d, shown=_MASK):
    """The largest elements of ``output_size`` nearly equal parts of volumes."""


__dir__ = _public.names(globals())
