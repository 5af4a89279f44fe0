"""Padding."""

from __future__ import annotations

from typing import Any

from ferrograd._kit import public as _public
from ferrograd.torch._tensor import Tensor
from ferrograd.torch.nn import functional as F
from ferrograd.torch.nn.modules.module import Module
from ferrograd.torch.nn.modules.utils import _ntuple

__all__ = [
    "CircularPad1d",
    "CircularPad2d",
    "CircularPad3d",
    "ConstantPad1d",
    "ConstantPad2d",
    "ConstantPad3d",
    "ReflectionPad1d",
    "ReflectionPad2d",
    "ReflectionPad3d",
    "ReplicationPad1d",
    "ReplicationPad2d",
    "ReplicationPad3d",
    "ZeroPad1d",
    "ZeroPad2d",
    "ZeroPad3d",
]


class _Pad(Module):
    """Pads the last axes: by one number everywhere, or a pair for each axis, from the last on."""

    _fg_axes: int
    _fg_mode: str

    def __init__(self, padding: Any) -> None:
        super().__init__()
        self.padding = _ntuple(2 * self._fg_axes)(padding)

    def forward(self, input: Tensor) -> Tensor:
        """The padded input."""
        if self._fg_mode == "circular" and input.ndim not in (self._fg_axes + 1, self._fg_axes + 2):
            raise ValueError(f"expected {self._fg_axes + 1}D or {self._fg_axes + 2}D input (got {input.ndim}D input)")
        return F.pad(input, self.padding, self._fg_mode)

    def extra_repr(self) -> str:
        """The widths."""
        return f"{self.padding}"


class _ConstantPad(_Pad):
    def __init__(self, padding: Any, value: float) -> None:
        super().__init__(padding)
        self.value = value

    def forward(self, input: Tensor) -> Tensor:
        """The padded input."""
        return F.pad(input, self.padding, "constant", self.value)

    def extra_repr(self) -> str:
        """The widths and the value."""
        return f"padding={self.padding}, value={self.value}"


class _ZeroPad(_Pad):
    _fg_mode = "constant"
    #: The number that the padding consists of.
    value = 0.0


class CircularPad1d(_Pad):
    """Pads sequences with the elements of the other end."""

    _fg_axes = 1
    _fg_mode = "circular"


class CircularPad2d(_Pad):
    """Pads images with the elements of the other end."""

    _fg_axes = 2
    _fg_mode = "circular"


class CircularPad3d(_Pad):
    """Pads volumes with the elements of the other end."""

    _fg_axes = 3
    _fg_mode = "circular"


class ConstantPad1d(_ConstantPad):
    """Pads sequences with one number."""

    _fg_axes = 1


class ConstantPad2d(_ConstantPad):
    """Pads images with one number."""

    _fg_axes = 2


class ConstantPad3d(_ConstantPad):
    """Pads volumes with one number."""

    _fg_axes = 3


class ReflectionPad1d(_Pad):
    """Pads sequences with their mirror image."""

    _fg_axes = 1
    _fg_mode = "reflect"


class ReflectionPad2d(_Pad):
    """Pads images with their mirror image."""

    _fg_axes = 2
    _fg_mode = "reflect"


class ReflectionPad3d(_Pad):
    """Pads volumes with their mirror image."""

    _fg_axes = 3
    _fg_mode = "reflect"


class ReplicationPad1d(_Pad):
    """Pads sequences with the elements at the border."""

    _fg_axes = 1
    _fg_mode = "replicate"


class ReplicationPad2d(_Pad):
    """Pads images with the elements at the border."""

    _fg_axes = 2
    _fg_mode = "replicate"


class ReplicationPad3d(_Pad):
    """Pads volumes with the elements at the border."""

    _fg_axes = 3
    _fg_mode = "replicate"


class ZeroPad1d(_ZeroPad):
    """Pads sequences with zeros."""

    _fg_axes = 1


class ZeroPad2d(_ZeroPad):
    """Pads images with zeros."""

    _fg_axes = 2


class ZeroPad3d(_ZeroPad):
    """Pads volumes with zeros."""

    _fg_axes = 3


__dir__ = _public.names(globals())
