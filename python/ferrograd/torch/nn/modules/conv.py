"""Convolutions and transposed convolutions."""

from __future__ import annotations

from typing import Any

from ferrograd._kit import arguments as _arguments, public as _public
from ferrograd.torch._tensor import Tensor
from ferrograd.torch.nn import functional as F
from ferrograd.torch.nn.modules.linear import optional, parameter, reset_linear
from ferrograd.torch.nn.modules.module import Module
from ferrograd.torch.nn.modules.utils import _ntuple
from ferrograd.torch.nn.parameter import Parameter

__all__ = ["Conv1d", "Conv2d", "Conv3d", "ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d"]

PADDING_MODES = ("zeros", "reflect", "replicate", "circular")


class _ConvNd(Module):
    """The parameters of a convolution over a number of axes."""

    _fg_axes: int
    weight: Parameter
    bias: Parameter | None

    def _fg_set(
        self,
        sizes: tuple[int, int, Any],
        stride: Any,
        padding: Any,
        output_padding: Any,
        groups: int,
        bias: bool,
        dilation: Any,
        padding_mode: str,
        device: object,
        dtype: Any,
        transposed: bool,
    ) -> None:
        """Checks and keeps the arguments, and makes the parameters."""
        super().__init__()
        each = _ntuple(self._fg_axes)
        self.in_channels, self.out_channels, kernel_size = sizes
        _arguments.sizes(self, in_channels=self.in_channels, out_channels=self.out_channels, groups=groups)
        if groups <= 0:
            raise ValueError("groups must be a positive integer")
        if self.in_channels % groups:
            raise ValueError("in_channels must be divisible by groups")
        if self.out_channels % groups:
            raise ValueError("out_channels must be divisible by groups")
        self.kernel_size, self.stride, self.dilation = each(kernel_size), each(stride), each(dilation)
        if isinstance(padding, str):
            if padding not in ("same", "valid"):
                raise ValueError(f"Invalid padding string {padding!r}, should be one of 'same', 'valid'")
            if padding == "same" and any(step != 1 for step in self.stride):
                raise ValueError("padding='same' is not supported for strided convolutions")
        if padding_mode not in PADDING_MODES:
            raise ValueError(f"padding_mode must be one of {PADDING_MODES}, but got padding_mode='{padding_mode}'")
        self.padding = padding if isinstance(padding, str) else each(padding)
        self.transposed, self.output_padding = transposed, each(output_padding)
        self.groups, self.padding_mode = groups, padding_mode
        outer, inner = (self.in_channels, self.out_channels) if transposed else (self.out_channels, self.in_channels)
        self.weight = parameter([outer, inner // groups, *self.kernel_size], dtype, device)
        self.register_parameter("bias", optional(bias, [self.out_channels], dtype, device))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draws the weight and the bias anew."""
        reset_linear(self.weight, self.bias)

    def _fg_widths(self) -> list[int]:
        """The padding before and after each axis, from the last axis on."""
        if not isinstance(self.padding, str):
            return [width for width in reversed(self.padding) for _ in range(2)]
        found = []
        for step, size in zip(reversed(self.dilation), reversed(self.kernel_size), strict=True):
            total = step * (size - 1) if self.padding == "same" else 0
            found += [total // 2, total - total // 2]
        return found

    def extra_repr(self) -> str:
        """The arguments that are not the default."""
        shown = f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}"
        usual = {"padding": (0,), "dilation": (1,), "output_padding": (0,)}
        for name, value in usual.items():
            if getattr(self, name) != value * len(self.kernel_size):
                shown += f", {name}={getattr(self, name)}"
        shown += f", groups={self.groups}" if self.groups != 1 else ""
        shown += ", bias=False" if self.bias is None else ""
        return shown + (f", padding_mode={self.padding_mode}" if self.padding_mode != "zeros" else "")


class _Conv(_ConvNd):
    """A convolution."""

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        device: object = None,
        dtype: Any = None,
    ) -> None:
        sizes = (in_channels, out_channels, kernel_size)
        self._fg_set(sizes, stride, padding, 0, groups, bias, dilation, padding_mode, device, dtype, False)

    def _conv_forward(self, input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        padding: Any = self.padding
        if self.padding_mode != "zeros":
            input, padding = F.pad(input, self._fg_widths(), self.padding_mode), 0
        convolution = getattr(F, f"conv{self._fg_axes}d")
        found: Tensor = convolution(input, weight, bias, self.stride, padding, self.dilation, self.groups)
        return found

    def forward(self, input: Tensor) -> Tensor:
        """The convolution of the input with the weight, plus the bias."""
        return self._conv_forward(input, self.weight, self.bias)


class Conv1d(_Conv):
    """The convolution of sequences [batch, channels, length] with learnt filters."""

    _fg_axes = 1


class Conv2d(_Conv):
    """The convolution of images [batch, channels, height, width] with learnt filters.

    >>> import ferrograd.torch as torch
    >>> layer = torch.nn.Conv2d(3, 8, 3, padding=1)
    >>> layer(torch.ones(2, 3, 5, 5)).shape, layer
    (torch.Size([2, 8, 5, 5]), Conv2d(3, 8, kernel_size=(3, 3), stride=(1, 1), padding=(1, 1)))
    """

    _fg_axes = 2


class Conv3d(_Conv):
    """The convolution of volumes [batch, channels, depth, height, width] with learnt filters."""

    _fg_axes = 3


class _ConvTransposeNd(_ConvNd):
    """A transposed convolution."""

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        output_padding: Any = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: Any = 1,
        padding_mode: str = "zeros",
        device: object = None,
        dtype: Any = None,
    ) -> None:
        if padding_mode != "zeros":
            raise ValueError(f'Only "zeros" padding mode is supported for {type(self).__name__}')
        sizes = (in_channels, out_channels, kernel_size)
        self._fg_set(sizes, stride, padding, output_padding, groups, bias, dilation, padding_mode, device, dtype, True)

    def _output_padding(self, input: Tensor, output_size: Any) -> tuple[int, ...]:
        """The padding of the output that gives it the wanted size."""
        if output_size is None:
            return self.output_padding
        n, outer = self._fg_axes, input.ndim - self._fg_axes
        wanted = list(output_size)
        wanted = wanted[outer:] if len(wanted) == outer + n else wanted
        if len(wanted) != n:
            raise ValueError(
                f"ConvTranspose{n}D: for {input.ndim}D input, output_size must have {n} or {outer + n} elements "
                f"(got {len(wanted)})"
            )
        numbers = zip(input.shape[outer:], self.stride, self.padding, self.dilation, self.kernel_size, strict=True)
        least = [(size - 1) * s - 2 * p + d * (k - 1) + 1 for size, s, p, d, k in numbers]
        most = [low + step - 1 for low, step in zip(least, self.stride, strict=True)]
        if any(not low <= size <= high for low, size, high in zip(least, wanted, most, strict=True)):
            raise ValueError(
                f"requested an output size of {wanted}, but valid sizes range from {least} to {most} "
                f"(for an input of {input.shape[2:]})"
            )
        return tuple(size - low for size, low in zip(wanted, least, strict=True))

    def forward(self, input: Tensor, output_size: Any = None) -> Tensor:
        """The transposed convolution, of an ``output_size`` if several are possible."""
        padding = self._output_padding(input, output_size)
        convolution = getattr(F, f"conv_transpose{self._fg_axes}d")
        rest = (self.stride, self.padding, padding, self.groups, self.dilation)
        found: Tensor = convolution(input, self.weight, self.bias, *rest)
        return found


class ConvTranspose1d(_ConvTransposeNd):
    """The transpose of a convolution of sequences."""

    _fg_axes = 1


class ConvTranspose2d(_ConvTransposeNd):
    """The transpose of a convolution of images.

    >>> import ferrograd.torch as torch
    >>> torch.nn.ConvTranspose2d(8, 3, 4, stride=2, padding=1)(torch.ones(2, 8, 5, 5)).shape
    torch.Size([2, 3, 10, 10])
    """

    _fg_axes = 2


class ConvTranspose3d(_ConvTransposeNd):
    """The transpose of a convolution of volumes."""

    _fg_axes = 3


__dir__ = _public.names(globals())
