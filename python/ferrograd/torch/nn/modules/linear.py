"""Linear layers."""

from __future__ import annotations

import math
from typing import Any

from ferrograd._kit import arguments as _arguments, public as _public
from ferrograd._kit.ops import ops
from ferrograd.torch._tensor import Tensor
from ferrograd.torch.nn import functional as F, init
from ferrograd.torch.nn.modules.module import Module
from ferrograd.torch.nn.parameter import Parameter

__all__ = ["Bilinear", "Identity", "Linear"]


def parameter(shape: Any, dtype: Any, device: object = None) -> Parameter:
    """A parameter of zeros, which its layer overwrites."""
    made = ops.zeros(shape, dtype)
    return Parameter(made if device is None else made.to(device))


def optional(wanted: bool, shape: Any, dtype: Any, device: object = None) -> Parameter | None:
    """A parameter of zeros, or None if the layer has no such parameter."""
    return parameter(shape, dtype, device) if wanted else None


class Identity(Module):
    """A layer that returns its input. It takes any arguments."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()

    def forward(self, input: Any) -> Any:
        """The input."""
        return input


class Linear(Module):
    """``input @ weight.T + bias``. The weight has the shape [out, in].

    Both are drawn from a uniform distribution on ± 1 / sqrt(in).

    >>> import ferrograd.torch as torch
    >>> layer = torch.nn.Linear(3, 2)
    >>> layer(torch.ones(5, 3)).shape, layer
    (torch.Size([5, 2]), Linear(in_features=3, out_features=2, bias=True))
    """

    weight: Parameter
    bias: Parameter | None

    def __init__(
        self, in_features: int, out_features: int, bias: bool = True, device: object = None, dtype: Any = None
    ) -> None:
        super().__init__()
        _arguments.sizes(self, in_features=in_features, out_features=out_features)
        self.in_features, self.out_features = in_features, out_features
        self.weight = parameter([out_features, in_features], dtype, device)
        self.register_parameter("bias", optional(bias, [out_features], dtype, device))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draws the weight and the bias anew."""
        reset_linear(self.weight, self.bias)

    def forward(self, input: Tensor) -> Tensor:
        """The product plus the bias."""
        return F.linear(input, self.weight, self.bias)

    def extra_repr(self) -> str:
        """The sizes, and whether there is a bias."""
        bias = self.bias is not None
        return f"in_features={self.in_features}, out_features={self.out_features}, bias={bias}"


def reset_linear(weight: Parameter, bias: Parameter | None) -> None:
    """Draws the weight and bias of a linear layer or convolution anew."""
    init.kaiming_uniform_(weight, a=math.sqrt(5))
    if bias is not None:
        fan_in, _ = init._calculate_fan_in_and_fan_out(weight)
        bound = 1 / math.sqrt(fan_in) if fan_in > 0 else 0
        init.uniform_(bias, -bound, bound)


class NonDynamicallyQuantizableLinear(Linear):
    """The output projection of attention."""


class Bilinear(Module):
    """``y[o] = input1 @ weight[o] @ input2 + bias[o]`` for the last axes of two inputs."""

    weight: Parameter
    bias: Parameter | None

    def __init__(
        self,
        in1_features: int,
        in2_features: int,
        out_features: int,
        bias: bool = True,
        device: object = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        if in1_features <= 0:
            raise ValueError(f"in1_features must be > 0, but got (in1_features={in1_features})")
        self.in1_features, self.in2_features, self.out_features = in1_features, in2_features, out_features
        self.weight = parameter([out_features, in1_features, in2_features], dtype, device)
        self.register_parameter("bias", optional(bias, [out_features], dtype, device))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draws the weight and the bias anew."""
        bound = 1 / math.sqrt(self.in1_features)
        init.uniform_(self.weight, -bound, bound)
        if self.bias is not None:
            init.uniform_(self.bias, -bound, bound)

    def forward(self, input1: Tensor, input2: Tensor) -> Tensor:
        """The bilinear form of two inputs."""
        return F.bilinear(input1, input2, self.weight, self.bias)

    def extra_repr(self) -> str:
        """The sizes, and whether there is a bias."""
        sizes = f"in1_features={self.in1_features}, in2_features={self.in2_features}"
        return f"{sizes}, out_features={self.out_features}, bias={self.bias is not None}"


__dir__ = _public.names(globals())
