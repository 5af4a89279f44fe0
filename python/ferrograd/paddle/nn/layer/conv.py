"""Convolutions and transposed convolutions."""

from __future__ import annotations

import math
from typing import Any

from ferrograd import _core
from ferrograd._kit import arguments as _arguments, public as _public
from ferrograd.paddle._tensor import Tensor
from ferrograd.paddle.nn import functional as F
from ferrograd.paddle.nn._functional.convolutions import each
from ferrograd.paddle.nn.initializer import Normal
from ferrograd.paddle.nn.layer.layers import Layer

__all__ = ["Conv1D", "Conv1DTranspose", "Conv2D", "Conv2DTranspose", "Conv3D", "Conv3DTranspose"]

PADDING_MODES = ("zeros", "reflect", "replicate", "circular")
_FORMATS = {1: "NCL", 2: "NCHW", 3: "NCDHW"}


class _ConvNd(Layer):
    """The parameters of a convolution over a number of axes."""

    _fg_axes: int
    _transposed = False

    def _fg_set(
        self,
        sizes: tuple[int, int, Any],
        window: tuple[Any, Any, Any, Any],
        groups: int,
        padding_mode: str,
        attrs: tuple[Any, Any],
        data_format: str | None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        name = type(self).__name__
        self._in_channels, self._out_channels, kernel_size = sizes
        _arguments.sizes(self, in_channels=self._in_channels, out_channels=self._out_channels, groups=groups)
        stride, self._padding, self.output_padding, dilation = window
        if attrs[0] is False:
            raise AssertionError("weight_attr should not be False in Conv.")
        if padding_mode not in PADDING_MODES:
            raise ValueError(f"padding_mode must be one of {set(PADDING_MODES)}, but got padding_mode={padding_mode!r}")
        if padding_mode != "zeros" and not isinstance(self._padding, int):
            raise ValueError(f"{name}: with padding_mode {padding_mode!r} the padding is one number")
        if self._in_channels % groups:
            raise ValueError("in_channels must be divisible by groups.")
        self._kernel_size = each(kernel_size, self._fg_axes, name, "kernel_size")
        self._stride, self._dilation = (
            each(stride, self._fg_axes, name, "stride"),
            each(dilation, self._fg_axes, name, "dilation"),
        )
        self._groups, self._padding_mode = groups, padding_mode
        self._data_format = data_format or _FORMATS[self._fg_axes]
        shape = [self._out_channels, self._in_channels // groups]
        first = None
        if self._transposed:
            shape = [self._in_channels, self._out_channels // groups]
        else:
            first = Normal(0.0, math.sqrt(2.0 / (math.prod(self._kernel_size) * self._in_channels)))
        self.weight = self.create_parameter([*shape, *self._kernel_size], attrs[0], dtype, default_initializer=first)
        self.bias = self.create_parameter([self._out_channels], attrs[1], dtype, is_bias=True)

    def extra_repr(self) -> str:
        """The arguments that are not the default."""
        shown = f"{self._in_channels}, {self._out_channels}, kernel_size={self._kernel_size}"
        ones = [1] * self._fg_axes
        usual = {
            "stride": ones,
            "padding": 0,
            "padding_mode": "zeros",
            "output_padding": 0,
            "dilation": ones,
            "groups": 1,
        }
        for name, value in usual.items():
            found = self.output_padding if name == "output_padding" else getattr(self, f"_{name}")
            shown += "" if found == value else f", {name}={found}"
        return f"{shown}, data_format={self._data_format}"


class _Conv(_ConvNd):
    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
        padding_mode: str = "zeros",
        weight_attr: Any = None,
        bias_attr: Any = None,
        data_format: str | None = None,
        *,
        bias: bool = True,
        device: object = None,
        dtype: Any = None,
    ) -> None:
        _core.check_device(type(self).__name__, device)
        window = (stride, padding, 0, dilation)
        attrs = (weight_attr, bias_attr if bias else False)
        self._fg_set((in_channels, out_channels, kernel_size), window, groups, padding_mode, attrs, data_format, dtype)

    def forward(self, x: Tensor) -> Tensor:
        """The convolution of the input with the weight, plus the bias."""
        padding = self._padding
        if self._padding_mode != "zeros":
            x, padding = F.pad(x, [padding] * (2 * self._fg_axes), self._padding_mode, 0.0, self._data_format), 0
        convolution = getattr(F, f"conv{self._fg_axes}d")
        rest = (self._stride, padding, self._dilation, self._groups, self._data_format)
        found: Tensor = convolution(x, self.weight, self.bias, *rest)
        return found


class Conv1D(_Conv):
    """The convolution of sequences with learnt filters."""

    _fg_axes = 1


class Conv2D(_Conv):
    """The convolution of images with learnt filters.

    >>> import ferrograd.paddle as paddle
    >>> list(paddle.nn.Conv2D(3, 8, 3, padding=1)(paddle.ones([2, 3, 5, 5])).shape)
    [2, 8, 5, 5]
    """

    _fg_axes = 2


class Conv3D(_Conv):
    """The convolution of volumes with learnt filters."""

    _fg_axes = 3


class _ConvTranspose(_ConvNd):
    _transposed = True

    def forward(self, x: Tensor, output_size: Any = None) -> Tensor:
        """The transposed convolution, of an ``output_size`` if several are possible."""
        convolution = getattr(F, f"conv{self._fg_axes}d_transpose")
        found: Tensor = convolution(
            x,
            self.weight,
            bias=self.bias,
            stride=self._stride,
            padding=self._padding,
            output_padding=self.output_padding if output_size is None else 0,
            groups=self._groups,
            dilation=self._dilation,
            output_size=output_size,
            data_format=self._data_format,
        )
        return found


class Conv1DTranspose(_ConvTranspose):
    """The transpose of a convolution of sequences."""

    _fg_axes = 1

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        output_padding: Any = 0,
        groups: int = 1,
        dilation: Any = 1,
        weight_attr: Any = None,
        bias_attr: Any = None,
        data_format: str = "NCL",
    ) -> None:
        window = (stride, padding, output_padding, dilation)
        sizes = (in_channels, out_channels, kernel_size)
        self._fg_set(sizes, window, groups, "zeros", (weight_attr, bias_attr), data_format)


class _ConvTransposeOfImages(_ConvTranspose):
    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        output_padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
        weight_attr: Any = None,
        bias_attr: Any = None,
        data_format: str | None = None,
    ) -> None:
        window = (stride, padding, output_padding, dilation)
        sizes = (in_channels, out_channels, kernel_size)
        self._fg_set(sizes, window, groups, "zeros", (weight_attr, bias_attr), data_format)


class Conv2DTranspose(_ConvTransposeOfImages):
    """The transpose of a convolution of images."""

    _fg_axes = 2


class Conv3DTranspose(_ConvTransposeOfImages):
    """The transpose of a convolution of volumes."""

    _fg_axes = 3


__dir__ = _public.names(globals())
