"""Normalization over axes other than the batch."""

from __future__ import annotations

from typing import Any

from ferrograd._kit import arguments as _arguments, public as _public
from ferrograd.torch._tensor import Tensor
from ferrograd.torch.nn import functional as F, init
from ferrograd.torch.nn.modules._layer import Layer
from ferrograd.torch.nn.modules.linear import optional
from ferrograd.torch.nn.modules.module import Module
from ferrograd.torch.nn.parameter import Parameter

__all__ = ["CrossMapLRN2d", "GroupNorm", "LayerNorm", "LocalResponseNorm", "RMSNorm"]


class LocalResponseNorm(Layer, function=F.local_response_norm, shown="{size}, alpha={alpha}, beta={beta}, k={k}"):
    """Divides each channel by a power of the mean square of ``size`` neighbouring channels."""


class CrossMapLRN2d(Module):
    """:class:`LocalResponseNorm` of [batch, channels, height, width], where an even ``size`` counts one channel less.

    PyTorch's counts the first channel in all windows after it, and its gradient does not.

    Raises:
        ValueError: the input has other than four axes.

    >>> import ferrograd.torch as torch
    >>> torch.nn.CrossMapLRN2d(4, alpha=4.0)(torch.ones(1, 3, 1, 1)).shape
    torch.Size([1, 3, 1, 1])
    """

    def __init__(self, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1) -> None:
        super().__init__()
        self.size, self.alpha, self.beta, self.k = size, alpha, beta, k

    def forward(self, input: Tensor) -> Tensor:
        """The normalized input."""
        if input.ndim != 4:
            raise ValueError(f"CrossMapLRN2d: expected input to be 4D, got {input.ndim}D input instead.")
        window = self.size - 1 + self.size % 2
        return F.local_response_norm(input, window, self.alpha * window / self.size, self.beta, self.k)

    def extra_repr(self) -> str:
        """The arguments."""
        return f"{self.size}, alpha={self.alpha}, beta={self.beta}, k={self.k}"


class _Scaled(Module):
    """A normalization with a weight of ones and perhaps a bias of zeros."""

    weight: Parameter | None
    bias: Parameter | None

    def reset_parameters(self) -> None:
        """Sets the weight to ones and the bias to zeros."""
        if self.weight is not None:
            init.ones_(self.weight)
        if self._parameters.get("bias") is not None:
            init.zeros_(self.bias)


class LayerNorm(_Scaled):
    """Normalizes over the last axes, which have ``normalized_shape``, to mean 0 and variance 1; scales and shifts.

    >>> import ferrograd.torch as torch
    >>> torch.nn.LayerNorm(3)(torch.tensor([[1.0, 2.0, 3.0]])).mean().item()
    0.0
    """

    def __init__(
        self,
        normalized_shape: Any,
        eps: float = 1e-5,
        elementwise_affine: bool = True,
        bias: bool = True,
        device: object = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.normalized_shape = _shape(self, normalized_shape)
        self.eps, self.elementwise_affine = eps, elementwise_affine
        self.register_parameter("weight", optional(elementwise_affine, self.normalized_shape, dtype, device))
        self.register_parameter("bias", optional(elementwise_affine and bias, self.normalized_shape, dtype, device))
        self.reset_parameters()

    def forward(self, input: Tensor) -> Tensor:
        """The normalized input."""
        return F.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        """The arguments."""
        shown = f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"
        return f"{shown}, bias={self.bias is not None}"


def _shape(layer: Module, given: Any) -> tuple[int, ...]:
    sizes = (given,) if isinstance(given, int | str) else tuple(given)
    for size in sizes:
        _arguments.sizes(layer, normalized_shape=size)
    return sizes


class GroupNorm(_Scaled):
    """Normalizes each of ``num_groups`` groups of channels to mean 0 and variance 1; scales and shifts channels."""

    def __init__(
        self,
        num_groups: int,
        num_channels: int,
        eps: float = 1e-5,
        affine: bool = True,
        device: object = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__()
        _arguments.sizes(self, num_groups=num_groups, num_channels=num_channels)
        if num_channels % num_groups:
            raise ValueError(f"num_channels ({num_channels}) must be divisible by num_groups ({num_groups})")
        self.num_groups, self.num_channels, self.eps, self.affine = num_groups, num_channels, eps, affine
        self.register_parameter("weight", optional(affine, [num_channels], dtype, device))
        self.register_parameter("bias", optional(affine and bias, [num_channels], dtype, device))
        self.reset_parameters()

    def forward(self, input: Tensor) -> Tensor:
        """The normalized input."""
        return F.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        """The arguments."""
        shown = f"{self.num_groups}, {self.num_channels}, eps={self.eps}, affine={self.affine}"
        return f"{shown}, bias={self.bias is not None}"


class RMSNorm(_Scaled):
    """Divides by the root of the mean square over the last axes, which have ``normalized_shape``; scales."""

    def __init__(
        self,
        normalized_shape: Any,
        eps: float | None = None,
        elementwise_affine: bool = True,
        device: object = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.normalized_shape = _shape(self, normalized_shape)
        self.eps, self.elementwise_affine = eps, elementwise_affine
        self.register_parameter("weight", optional(elementwise_affine, self.normalized_shape, dtype, device))
        self.reset_parameters()

    def forward(self, x: Tensor) -> Tensor:
        """The normalized input."""
        return F.rms_norm(x, self.normalized_shape, self.weight, self.eps)

    def extra_repr(self) -> str:
        """The arguments."""
        return f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"


__dir__ = _public.names(globals())
