"""Pools."""

from __future__ import annotations

from typing import Any

from ferrograd._kit import public as _public
from ferrograd.torch.nn import functional as F
from ferrograd.torch.nn.modules._layer import Layer
from ferrograd.torch.nn.modules.utils import _ntuple

__all__ = [
    "AdaptiveAvgPool1d",
    "AdaptiveAvgPool2d",
    "AdaptiveAvgPool3d",
    "AdaptiveMaxPool1d",
    "AdaptiveMaxPool2d",
    "AdaptiveMaxPool3d",
    "AvgPool1d",
    "AvgPool2d",
    "AvgPool3d",
    "FractionalMaxPool2d",
    "FractionalMaxPool3d",
    "LPPool1d",
    "LPPool2d",
    "LPPool3d",
    "MaxPool1d",
    "MaxPool2d",
    "MaxPool3d",
    "MaxUnpool1d",
    "MaxUnpool2d",
    "MaxUnpool3d",
]

_MAX = ("kernel_size", "stride", "padding", "dilation", "return_indices", "ceil_mode")
_AVG = ("kernel_size", "stride", "padding", "ceil_mode", "count_include_pad")
_WINDOW = "kernel_size={kernel_size}, stride={stride}, padding={padding}"


class _Pool(Layer):
    def _fg_keep(self, arguments: dict[str, Any]) -> None:
        """Keeps the arguments; the stride is by default the size of the window."""
        if arguments["stride"] is None:
            arguments["stride"] = arguments["kernel_size"]
        super()._fg_keep(arguments)


class _MaxPoolNd(_Pool, shown=_WINDOW + ", dilation={dilation}, ceil_mode={ceil_mode}"):
    pass


class MaxPool1d(_MaxPoolNd, function=F.max_pool1d, parameters=_MAX):
    """The largest element of each window of sequences; with ``return_indices`` also its position."""


class MaxPool2d(_MaxPoolNd, function=F.max_pool2d, parameters=_MAX):
    """The largest element of each window of images; with ``return_indices`` also its flat position."""


class MaxPool3d(_MaxPoolNd, function=F.max_pool3d, parameters=_MAX):
    """The largest element of each window of volumes; with ``return_indices`` also its flat position."""


class _Tuples(_Pool, shown=_WINDOW):
    """A pool that keeps its window as tuples, one number for each axis."""

    _fg_axes = 1

    def _fg_keep(self, arguments: dict[str, Any]) -> None:
        for name in ("kernel_size", "stride", "padding"):
            value = arguments["kernel_size"] if arguments[name] is None else arguments[name]
            arguments[name] = _ntuple(self._fg_axes)(value)
        super()._fg_keep(arguments)


class _MaxUnpoolNd(_Tuples):
    def forward(self, input: Any, indices: Any, output_size: Any = None) -> Any:
        """The maxima at their old positions, and zeros elsewhere; of an ``output_size`` if several are possible."""
        window = (self.kernel_size, self.stride, self.padding)
        return self._fg_function(input, indices, *window, output_size)


_UNPOOL = ("kernel_size", "stride", "padding")


class MaxUnpool1d(_MaxUnpoolNd, function=F.max_unpool1d, inputs=2, parameters=_UNPOOL):
    """Sequences in which the maxima of windows are at their old positions, and zeros elsewhere."""


class MaxUnpool2d(_MaxUnpoolNd, function=F.max_unpool2d, inputs=2, parameters=_UNPOOL):
    """Images in which the maxima of windows are at their old positions, and zeros elsewhere."""

    _fg_axes = 2


class MaxUnpool3d(_MaxUnpoolNd, function=F.max_unpool3d, inputs=2, parameters=_UNPOOL):
    """Volumes in which the maxima of windows are at their old positions, and zeros elsewhere."""

    _fg_axes = 3


class AvgPool1d(_Tuples, function=F.avg_pool1d, parameters=_AVG, defaults={"padding": 0}):
    """The mean of each window of sequences."""


class AvgPool2d(
    _Pool, function=F.avg_pool2d, parameters=(*_AVG, "divisor_override"), defaults={"padding": 0}, shown=_WINDOW
):
    """The mean of each window of images."""


class AvgPool3d(
    _Pool, function=F.avg_pool3d, parameters=(*_AVG, "divisor_override"), defaults={"padding": 0}, shown=_WINDOW
):
    """The mean of each window of volumes."""


class _FractionalMaxPoolNd(Layer):
    def _fg_keep(self, arguments: dict[str, Any]) -> None:
        size, ratio = arguments["output_size"], arguments["output_ratio"]
        if (size is None) == (ratio is None):
            raise ValueError(f"{type(self).__name__}: exactly one of output_size and output_ratio is wanted")
        samples = arguments.pop("_random_samples")
        super()._fg_keep(arguments)
        self.register_buffer("_random_samples", samples)


class FractionalMaxPool2d(_FractionalMaxPoolNd, function=F.fractional_max_pool2d):
    """The largest element of each of ``output_size`` windows of images, whose places are random."""


class FractionalMaxPool3d(_FractionalMaxPoolNd, function=F.fractional_max_pool3d):
    """The largest element of each of ``output_size`` windows of volumes, whose places are random."""


class _LPPoolNd(
    Layer, shown="norm_type={norm_type}, kernel_size={kernel_size}, stride={stride}, ceil_mode={ceil_mode}"
):
    def _fg_keep(self, arguments: dict[str, Any]) -> None:
        if arguments["norm_type"] == 0:
            raise ValueError("norm_type must be a non-zero value, but got 0")
        super()._fg_keep(arguments)


class LPPool1d(_LPPoolNd, function=F.lp_pool1d):
    """``sum(x ** norm_type) ** (1 / norm_type)`` over each window of sequences."""


class LPPool2d(_LPPoolNd, function=F.lp_pool2d):
    """``sum(x ** norm_type) ** (1 / norm_type)`` over each window of images."""


class LPPool3d(_LPPoolNd, function=F.lp_pool3d):
    """``sum(x ** norm_type) ** (1 / norm_type)`` over each window of volumes."""


_SIZE = "output_size={output_size}"


class AdaptiveMaxPool1d(Layer, function=F.adaptive_max_pool1d, shown=_SIZE):
    """The largest elements of ``output_size`` nearly equal parts of sequences."""


class AdaptiveMaxPool2d(Layer, function=F.adaptive_max_pool2d, shown=_SIZE):
    """The largest elements of ``output_size`` nearly equal parts of images."""


class AdaptiveMaxPool3d(Layer, function=F.adaptive_max_pool3d, shown=_SIZE):
    """The largest elements of ``output_size`` nearly equal parts of volumes."""


class AdaptiveAvgPool1d(Layer, function=F.adaptive_avg_pool1d, shown=_SIZE):
    """The means of ``output_size`` nearly equal parts of sequences."""


class AdaptiveAvgPool2d(Layer, function=F.adaptive_avg_pool2d, shown=_SIZE):
    """The means of ``output_size`` nearly equal parts of images."""


class AdaptiveAvgPool3d(Layer, function=F.adaptive_avg_pool3d, shown=_SIZE):
    """The means of ``output_size`` nearly equal parts of volumes."""


__dir__ = _public.names(globals())
