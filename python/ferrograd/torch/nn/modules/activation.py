"""Activations: layers of the functions with nearly the same names."""

from __future__ import annotations

from typing import Any

from ferrograd._kit import public as _public
from ferrograd._kit.warning import warn
from ferrograd.torch._tensor import Tensor
from ferrograd.torch.nn import functional as F, init as _init
from ferrograd.torch.nn.modules._layer import Layer
from ferrograd.torch.nn.modules.attention import MultiheadAttention
from ferrograd.torch.nn.modules.linear import parameter
from ferrograd.torch.nn.modules.module import Module
from ferrograd.torch.nn.parameter import Parameter

__all__ = [
    "CELU",
    "ELU",
    "GELU",
    "GLU",
    "SELU",
    "Hardshrink",
    "Hardsigmoid",
    "Hardswish",
    "Hardtanh",
    "LeakyReLU",
    "LogSigmoid",
    "LogSoftmax",
    "Mish",
    "MultiheadAttention",
    "PReLU",
    "RReLU",
    "ReLU",
    "ReLU6",
    "SiLU",
    "Sigmoid",
    "Softmax",
    "Softmax2d",
    "Softmin",
    "Softplus",
    "Softshrink",
    "Softsign",
    "Tanh",
    "Tanhshrink",
    "Threshold",
]


class ReLU(Layer, function=F.relu):
    """``max(x, 0)``."""


class ReLU6(Layer, function=F.relu6):
    """``min(max(x, 0), 6)``."""


class RReLU(Layer, function=F.rrelu, shown="lower={lower}, upper={upper}"):
    """``x``, where negative times a random slope in training, else times the mean slope."""


class Hardtanh(
    Layer,
    function=F.hardtanh,
    parameters=("min_val", "max_val", "inplace", "min_value", "max_value"),
    defaults={"min_value": None, "max_value": None},
    shown="min_val={min_val}, max_val={max_val}",
):
    """``x`` clipped to [``min_val``, ``max_val``]."""

    def _fg_keep(self, arguments: dict[str, Any]) -> None:
        for new in ("min_val", "max_val"):
            old = arguments.pop(f"{new}ue")
            if old is not None:
                warn(f"keyword argument `{new}ue` is deprecated and renamed to `{new}`", FutureWarning)
                arguments[new] = old
        super()._fg_keep(arguments)
        if not self.max_val > self.min_val:
            raise ValueError(
                f"max_val must be larger than min_val, but got max_val={self.max_val} and min_val={self.min_val}"
            )


class Sigmoid(Layer, function=F.sigmoid):
    """``1 / (1 + exp(-x))``."""


class Hardsigmoid(Layer, function=F.hardsigmoid):
    """``x / 6 + 1 / 2`` clipped to [0, 1]."""

    def extra_repr(self) -> str:
        """Nothing."""
        return ""


class Tanh(Layer, function=F.tanh):
    """The hyperbolic tangent."""


class SiLU(Layer, function=F.silu):
    """``x`` times its sigmoid."""


class Mish(Layer, function=F.mish):
    """``x * tanh(softplus(x))``."""


class Hardswish(Layer, function=F.hardswish):
    """``x`` times its hardsigmoid."""

    def extra_repr(self) -> str:
        """Nothing."""
        return ""


class ELU(Layer, function=F.elu, shown="alpha={alpha}"):
    """``x`` where it is positive, ``alpha * (exp(x) - 1)`` elsewhere."""


class CELU(Layer, function=F.celu, shown="alpha={alpha}"):
    """``x`` where it is positive, ``alpha * (exp(x / alpha) - 1)`` elsewhere."""


class SELU(Layer, function=F.selu):
    """The ELU scaled so that it preserves mean 0 and variance 1."""


class GLU(Layer, function=F.glu, shown="dim={dim}"):
    """The first half along an axis times the sigmoid of the second."""


class GELU(Layer, function=F.gelu, shown="approximate={approximate!r}"):
    """``x`` times the standard normal distribution function of it, or with "tanh" an approximation."""


class Hardshrink(Layer, function=F.hardshrink, shown="{lambd}"):
    """``x``, or 0 where ``|x| <= lambd``."""


class LeakyReLU(Layer, function=F.leaky_relu, shown="negative_slope={negative_slope}"):
    """``x``, times ``negative_slope`` where it is negative."""


class LogSigmoid(Layer, function=F.logsigmoid):
    """The logarithm of the sigmoid."""


class Softplus(Layer, function=F.softplus, shown="beta={beta}, threshold={threshold}"):
    """``log(1 + exp(beta * x)) / beta``; ``x`` where ``beta * x`` is above the threshold."""


class Softshrink(Layer, function=F.softshrink, shown="{lambd}"):
    """``sign(x) * max(|x| - lambd, 0)``."""


class Softsign(Layer, function=F.softsign):
    """``x / (1 + |x|)``."""


class Tanhshrink(Layer, function=F.tanhshrink):
    """``x - tanh(x)``."""


class Threshold(Layer, function=F.threshold, shown="threshold={threshold}, value={value}"):
    """``x`` where it is above the threshold, else ``value``."""


class _AlongAxis(Layer):
    def _fg_keep(self, arguments: dict[str, Any]) -> None:
        dim = arguments["dim"]
        if dim is not None and (not isinstance(dim, int) or isinstance(dim, bool)):
            raise TypeError(f"dim must be an int or None, got {type(dim)}")
        super()._fg_keep(arguments)


class Softmax(_AlongAxis, function=F.softmax, parameters=("dim",), shown="dim={dim}"):
    """``exp(x) / sum(exp(x))`` along an axis."""


class Softmin(_AlongAxis, function=F.softmin, parameters=("dim",), shown="dim={dim}"):
    """The softmax of ``-x``."""


class LogSoftmax(_AlongAxis, function=F.log_softmax, parameters=("dim",), shown="dim={dim}"):
    """The logarithm of the softmax along an axis."""


class Softmax2d(Module):
    """The softmax over the channels of images."""

    def forward(self, input: Tensor) -> Tensor:
        """The softmax along the third axis from the end."""
        if input.ndim not in (3, 4):
            raise ValueError(f"Softmax2d: expected input to be 3D or 4D, got {input.ndim}D instead")
        return F.softmax(input, -3)


class PReLU(Module):
    """``x``, times a learnt slope where it is negative: one slope, or one for each channel."""

    weight: Parameter

    def __init__(self, num_parameters: int = 1, init: float = 0.25, device: object = None, dtype: Any = None) -> None:
        super().__init__()
        self.num_parameters, self.init = num_parameters, init
        self.weight = parameter([num_parameters], dtype, device)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Sets the slopes to the initial one."""
        _init.constant_(self.weight, self.init)

    def forward(self, input: Tensor) -> Tensor:
        """The function of the input."""
        return F.prelu(input, self.weight)

    def extra_repr(self) -> str:
        """The number of slopes."""
        return f"num_parameters={self.num_parameters}"


__dir__ = _public.names(globals())
