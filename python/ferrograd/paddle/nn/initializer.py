"""``paddle.nn.initializer``: the first values of parameters. An initializer is called with the tensor it overwrites."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ferrograd import _core
from ferrograd._autograd.modes import no_grad
from ferrograd._core import ArgumentError, Tensor, paddle as ops
from ferrograd._kit import public as _public
from ferrograd._kit.dialect import PADDLE
from ferrograd._layers import initializers as _initializers

__all__ = [
    "Assign",
    "Bilinear",
    "Constant",
    "Dirac",
    "Initializer",
    "KaimingNormal",
    "KaimingUniform",
    "Normal",
    "Orthogonal",
    "TruncatedNormal",
    "Uniform",
    "XavierNormal",
    "XavierUniform",
    "calculate_gain",
    "set_global_initializer",
]


def calculate_gain(nonlinearity: str, param: Any = None) -> float:
    """The recommended gain before a nonlinearity; ``param`` is the negative slope of ``leaky_relu``."""
    return _initializers.gain(nonlinearity, param)


class Initializer:
    """The base of initializers. A subclass computes the values for a shape and a dtype."""

    def values(self, shape: list[int], dtype: Any) -> Tensor:
        """The values of a parameter."""
        raise NotImplementedError

    @no_grad()
    def __call__(self, param: Any, block: object = None) -> Any:
        """Overwrites a tensor with its first values."""
        param.set_value(self.values(list(param.shape), param.dtype))
        return param


class Constant(Initializer):
    """One number."""

    def __init__(self, value: float = 0.0) -> None:
        self.value = value

    def values(self, shape: list[int], dtype: Any) -> Tensor:
        """The number everywhere."""
        return ops.full(shape, self.value, dtype)


class Assign(Initializer):
    """Given numbers: an array, a list or a tensor."""

    def __init__(self, value: Any, name: str | None = None) -> None:
        self.value = value

    def values(self, shape: list[int], dtype: Any) -> Tensor:
        """The given numbers in the shape of the parameter."""
        value = self.value.detach() if isinstance(self.value, Tensor) else self.value
        return ops.reshape(_core.make(value, dtype, False, PADDLE), shape)


class Normal(Initializer):
    """Random numbers of the normal distribution."""

    def __init__(self, mean: float = 0.0, std: float = 1.0, name: str | None = None) -> None:
        self.mean, self.std = mean, std

    def values(self, shape: list[int], dtype: Any) -> Tensor:
        """Random numbers."""
        return ops.randn(shape, dtype) * self.std + self.mean


class TruncatedNormal(Initializer):
    """Random numbers of the normal distribution between the mean plus ``a`` and plus ``b`` standard deviations."""

    def __init__(
        self, mean: float = 0.0, std: float = 1.0, a: float = -2.0, b: float = 2.0, name: str | None = None
    ) -> None:
        self.mean, self.std, self.a, self.b = mean, std, a, b

    def values(self, shape: list[int], dtype: Any) -> Tensor:
        """Random numbers."""
        return _initializers.truncated_normal(shape, 0.0, 1.0, self.a, self.b, dtype) * self.std + self.mean


class Uniform(Initializer):
    """Random numbers of the uniform distribution."""

    def __init__(self, low: float = -1.0, high: float = 1.0, name: str | None = None) -> None:
        self.low, self.high = low, high

    def values(self, shape: list[int], dtype: Any) -> Tensor:
        """Random numbers."""
        return ops.rand(shape, dtype) * (self.high - self.low) + self.low


def _fans(shape: list[int]) -> tuple[int, int]:
    """The inputs of an output and the outputs of an input. A matrix is [in, out], a filter [out, in, …]."""
    if len(shape) < 2:
        return (shape[0], shape[0]) if shape else (1, 1)
    inside, outside = _initializers.fans(shape)
    return (outside, inside) if len(shape) == 2 else (inside, outside)


class _Xavier(Initializer):
    def __init__(
        self, fan_in: float | None = None, fan_out: float | None = None, gain: float = 1.0, name: str | None = None
    ) -> None:
        self.fan_in, self.fan_out, self.gain = fan_in, fan_out, gain

    def std(self, shape: list[int]) -> float:
        fans = _fans(shape)
        fan_in = fans[0] if self.fan_in is None else self.fan_in
        fan_out = fans[1] if self.fan_out is None else self.fan_out
        return self.gain * math.sqrt(2.0 / max(float(fan_in + fan_out), 1.0))


class XavierNormal(_Xavier):
    """Normal numbers of variance ``2 gain**2 / (fan_in + fan_out)`` (Glorot, Bengio 2010)."""

    def values(self, shape: list[int], dtype: Any) -> Tensor:
        """Random numbers."""
        return ops.randn(shape, dtype) * self.std(shape)


class XavierUniform(_Xavier):
    """Uniform numbers of variance ``2 gain**2 / (fan_in + fan_out)`` (Glorot, Bengio 2010)."""

    def values(self, shape: list[int], dtype: Any) -> Tensor:
        """Random numbers."""
        bound = math.sqrt(3.0) * self.std(shape)
        return Uniform(-bound, bound).values(shape, dtype)


class _Kaiming(Initializer):
    def __init__(
        self,
        fan_in: float | None = None,
        negative_slope: float = 0.0,
        nonlinearity: str = "relu",
        mode: str = "fan_in",
    ) -> None:
        if mode not in ("fan_in", "fan_out"):
            raise ArgumentError(
                f"The mode of KaimingNormal/KaimingUniform should be 'fan_in' or 'fan_out', but received {mode}."
            )
        self.fan_in, self.negative_slope, self.nonlinearity, self.mode = fan_in, negative_slope, nonlinearity, mode

    def std(self, shape: list[int]) -> float:
        if self.mode == "fan_out":
            fan: float = _fans(shape)[1]
        else:
            fan = _fans(shape)[0] if self.fan_in is None else self.fan_in
        return _initializers.gain(self.nonlinearity, self.negative_slope) / math.sqrt(float(fan))


class KaimingNormal(_Kaiming):
    """Normal numbers of variance ``gain**2 / fan_in`` (He et al. 2015), or of ``fan_out`` by ``mode``."""

    def values(self, shape: list[int], dtype: Any) -> Tensor:
        """Random numbers."""
        return ops.randn(shape, dtype) * self.std(shape)


class KaimingUniform(_Kaiming):
    """Uniform numbers of variance ``gain**2 / fan_in`` (He et al. 2015), or of ``fan_out`` by ``mode``."""

    def values(self, shape: list[int], dtype: Any) -> Tensor:
        """Random numbers."""
        bound = math.sqrt(3.0) * self.std(shape)
        return Uniform(-bound, bound).values(shape, dtype)


class Orthogonal(Initializer):
    """A random matrix with orthonormal rows or columns, whichever are fewer, times ``gain``. Later axes are joined."""

    def __init__(self, gain: float = 1.0, name: str | None = None) -> None:
        self.gain = gain

    def values(self, shape: list[int], dtype: Any) -> Tensor:
        """The matrix."""
        return _initializers.orthogonal(shape, self.gain, dtype)


class Dirac(Initializer):
    """The filters of a convolution that passes on its input channels, in each group."""

    def __init__(self, groups: int = 1, name: str | None = None) -> None:
        self.groups = groups

    def values(self, shape: list[int], dtype: Any) -> Tensor:
        """The filters."""
        return _initializers.dirac(shape, self.groups, dtype)


class Bilinear(Initializer):
    """The filters of a transposed convolution that interpolates bilinearly."""

    def values(self, shape: list[int], dtype: Any) -> Tensor:
        """The filters, which are all equal."""
        if len(shape) != 4 or shape[2] != shape[3]:
            raise ValueError("the shape of a bilinear filter is [out, in, size, size]")
        size = shape[3]
        factor = math.ceil(size / 2.0)
        center = (2 * factor - 1 - factor % 2) / (2.0 * factor)
        line = 1 - np.abs(np.arange(size) / factor - center)
        return _core.make(np.broadcast_to(line[:, None] * line, shape).copy(), dtype, False, PADDLE)


_defaults: dict[bool, Initializer | None] = {False: None, True: None}


def set_global_initializer(weight_init: Initializer | None, bias_init: Initializer | None = None) -> None:
    """Sets the initializers of weights and of biases for which none is given. None is Paddle's own default."""
    for given in (weight_init, bias_init):
        if given is not None and not isinstance(given, Initializer):
            raise TypeError(f"set_global_initializer takes initializers, not {type(given).__name__}")
    _defaults[False], _defaults[True] = weight_init, bias_init


def chosen(given: Initializer | None, default: Initializer | None, is_bias: bool) -> Initializer:
    """The initializer of a parameter: the one given, else the global one, else that of the layer, else Paddle's."""
    found = given or _defaults[is_bias] or default
    return found or (Constant(0.0) if is_bias else XavierUniform())


__dir__ = _public.names(globals())
