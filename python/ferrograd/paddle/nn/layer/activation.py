"""Activations: layers of the functions with nearly the same names."""

from __future__ import annotations

from typing import Any

from ferrograd._kit import public as _public
from ferrograd.paddle._tensor import Tensor
from ferrograd.paddle.nn import functional as F
from ferrograd.paddle.nn.initializer import Constant
from ferrograd.paddle.nn.layer.layers import FunctionLayer, Layer

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
    "Maxout",
    "Mish",
    "PReLU",
    "RReLU",
    "ReLU",
    "ReLU6",
    "SiLU",
    "Sigmoid",
    "Silu",
    "Softmax",
    "Softmax2D",
    "Softplus",
    "Softshrink",
    "Softsign",
    "Swish",
    "Tanh",
    "Tanhshrink",
    "ThresholdedReLU",
]


class CELU(FunctionLayer, function=F.celu, shown="alpha={alpha}"):
    """``x`` where it is positive, ``alpha * (exp(x / alpha) - 1)`` elsewhere."""


class ELU(FunctionLayer, function=F.elu, shown="alpha={alpha}"):
    """``x`` where it is positive, ``alpha * (exp(x) - 1)`` elsewhere."""


class GELU(FunctionLayer, function=F.gelu, shown="approximate={approximate}"):
    """``x`` times the standard normal distribution function of it, or an approximation."""


class GLU(FunctionLayer, function=F.glu, shown="axis={axis}"):
    """The first half along an axis times the sigmoid of the second."""


class Hardshrink(FunctionLayer, function=F.hardshrink, shown="threshold={threshold}"):
    """``x``, or 0 where ``|x| <= threshold``."""


class Hardsigmoid(FunctionLayer, function=F.hardsigmoid, parameters=("name",)):
    """``x / 6 + 1 / 2`` clipped to [0, 1]."""


class Hardswish(FunctionLayer, function=F.hardswish):
    """``x`` times its hardsigmoid."""


class Hardtanh(FunctionLayer, function=F.hardtanh, shown="min={min}, max={max}"):
    """``x`` clipped to [``min``, ``max``]."""


class LeakyReLU(FunctionLayer, function=F.leaky_relu, shown="negative_slope={negative_slope}"):
    """``x``, times ``negative_slope`` where it is negative."""


class LogSigmoid(FunctionLayer, function=F.log_sigmoid):
    """The logarithm of the sigmoid."""


class LogSoftmax(FunctionLayer, function=F.log_softmax, parameters=("axis", "name"), shown="axis={axis}"):
    """The logarithm of the softmax along an axis."""


class Maxout(FunctionLayer, function=F.maxout, shown="groups={groups}, axis={axis}"):
    """The largest of each ``groups`` neighbouring channels."""


class Mish(FunctionLayer, function=F.mish):
    """``x * tanh(softplus(x))``."""


class RReLU(FunctionLayer, function=F.rrelu, shown="lower={lower}, upper={upper}"):
    """``x``, where negative times a random slope in training, else times the mean slope."""

    def extra_repr(self) -> str:
        """The slopes, the mode and the dtype."""
        return f"{super().extra_repr()}, training={self.training}, dtype={self._dtype}"


class ReLU(FunctionLayer, function=F.relu):
    """``max(x, 0)``."""


class ReLU6(FunctionLayer, function=F.relu6):
    """``min(max(x, 0), 6)``."""


class SELU(FunctionLayer, function=F.selu, shown="scale={scale}, alpha={alpha}"):
    """The ELU scaled so that it preserves mean 0 and variance 1."""


class Sigmoid(FunctionLayer, function=F.sigmoid):
    """``1 / (1 + exp(-x))``."""


class Silu(
    FunctionLayer,
    function=F.silu,
    parameters=("inplace", "name"),
    defaults={"inplace": False},
    shown="inplace={inplace}",
):
    """``x`` times its sigmoid."""

    def forward(self, x: Tensor) -> Any:
        """The function of the input, which is overwritten with ``inplace``."""
        return x.copy_(F.silu(x)) if self.inplace else F.silu(x)


#: Another name.
SiLU = Silu


class Softmax(FunctionLayer, function=F.softmax, parameters=("axis", "name"), shown="axis={axis}"):
    """``exp(x) / sum(exp(x))`` along an axis."""


class Softmax2D(Layer):
    """The softmax over the channels of images."""

    def __init__(self, name: str | None = None) -> None:
        super().__init__()
        self._name = name

    def forward(self, x: Tensor) -> Tensor:
        """The softmax along the third axis from the end."""
        if x.ndim not in (3, 4):
            raise AssertionError(f"Softmax2D requires a 3D or 4D tensor as input. Received: {x.ndim}D.")
        return F.softmax(x, axis=-3)


class Softplus(
    FunctionLayer,
    function=F.softplus,
    defaults={"beta": 1, "threshold": 20},
    shown="beta={beta}, threshold={threshold}",
):
    """``log(1 + exp(beta * x)) / beta``; ``x`` where ``beta * x`` is above the threshold."""


class Softshrink(FunctionLayer, function=F.softshrink, shown="threshold={threshold}"):
    """``sign(x) * max(|x| - threshold, 0)``."""


class Softsign(FunctionLayer, function=F.softsign):
    """``x / (1 + |x|)``."""


class Swish(FunctionLayer, function=F.swish):
    """``x`` times its sigmoid."""


class Tanh(FunctionLayer, function=F.tanh):
    """The hyperbolic tangent."""


class Tanhshrink(FunctionLayer, function=F.tanhshrink):
    """``x - tanh(x)``."""


class ThresholdedReLU(FunctionLayer, function=F.thresholded_relu, shown="threshold={threshold}, value={value}"):
    """``x`` where it is above the threshold, else ``value``."""


class PReLU(Layer):
    """``x``, times a learnt slope where it is negative: one slope, or one for each channel."""

    def __init__(
        self,
        num_parameters: int = 1,
        init: float = 0.25,
        weight_attr: Any = None,
        data_format: str = "NCHW",
        name: str | None = None,
    ) -> None:
        super().__init__()
        self._num_parameters, self._init, self._name, self._data_format = num_parameters, init, name, data_format
        self._weight = self.create_parameter([num_parameters], weight_attr, default_initializer=Constant(init))

    def forward(self, x: Tensor) -> Tensor:
        """The function of the input."""
        if self._data_format.endswith("C") and self._num_parameters > 1:
            last = x.ndim - 1
            return F.prelu(x.moveaxis(last, 1), self._weight).moveaxis(1, last)
        return F.prelu(x, self._weight)

    def extra_repr(self) -> str:
        """The arguments."""
        shown = f"num_parameters={self._num_parameters}, data_format={self._data_format}, init={self._init}"
        return f"{shown}, dtype={self._dtype}" + (f", name={self._name}" if self._name else "")


__dir__ = _public.names(globals())
