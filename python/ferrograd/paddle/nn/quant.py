"""``paddle.nn.quant``: functions as layers, which models that are quantized elsewhere have in place of operators."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ferrograd._core import paddle as ops
from ferrograd._kit import public as _public
from ferrograd.paddle._functions import products, shapes
from ferrograd.paddle._tensor import Tensor
from ferrograd.paddle.nn.layer.layers import Layer

__all__ = [
    "FloatFunctionalLayer",
    "add",
    "concat",
    "divide",
    "flatten",
    "matmul",
    "multiply",
    "reshape",
    "subtract",
    "transpose",
]


class FloatFunctionalLayer(Layer):
    """A layer without parameters that calls one function.

    >>> import ferrograd.paddle as paddle
    >>> paddle.nn.quant.add()(paddle.to_tensor(1.0), paddle.to_tensor(2.0)).item()
    3.0
    """

    _fg_function: Callable[..., Any]

    def __init_subclass__(cls, *, function: Callable[..., Any], **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls._fg_function = staticmethod(function)

    def forward(self, x: Any, *args: Any, **kwargs: Any) -> Tensor:
        """The function of the arguments."""
        result: Tensor = self._fg_function(x, *args, **kwargs)
        return result


class add(FloatFunctionalLayer, function=ops.add):
    """``paddle.add`` as a layer."""


class subtract(FloatFunctionalLayer, function=ops.subtract):
    """``paddle.subtract`` as a layer."""


class multiply(FloatFunctionalLayer, function=ops.multiply):
    """``paddle.multiply`` as a layer."""


class divide(FloatFunctionalLayer, function=ops.divide):
    """``paddle.divide`` as a layer."""


class reshape(FloatFunctionalLayer, function=shapes.reshape):
    """``paddle.reshape`` as a layer."""


class transpose(FloatFunctionalLayer, function=shapes.transpose):
    """``paddle.transpose`` as a layer."""


class concat(FloatFunctionalLayer, function=shapes.concat):
    """``paddle.concat`` as a layer."""


class flatten(FloatFunctionalLayer, function=ops.flatten):
    """``paddle.flatten`` as a layer."""


class matmul(FloatFunctionalLayer, function=products.matmul):
    """``paddle.matmul`` as a layer."""


__dir__ = _public.names(globals())
