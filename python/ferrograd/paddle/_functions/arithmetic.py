"""Paddle's functions whose parameters, defaults or meaning differ from the core's. Each is a tensor method too."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

from ferrograd import _core
from ferrograd._core import ArgumentError, ShapeError, paddle as ops
from ferrograd._functions.arithmetic import quotient
from ferrograd._kit import arguments as _arguments
from ferrograd.paddle._base.in_place import leaf_kept
from ferrograd.paddle._tensor import Tensor

__all__ = [
    "add",
    "add_n",
    "allclose",
    "atan2",
    "bitwise_left_shift",
    "bitwise_right_shift",
    "copysign",
    "div",
    "divide",
    "equal_all",
    "floor_mod",
    "frac",
    "frexp",
    "increment",
    "isneginf",
    "isposinf",
    "logit",
    "multiplex",
    "polygamma",
    "scale",
    "stanh",
    "sub",
    "subtract",
]


def add_n(inputs: Any, name: str | None = None) -> Tensor:
    """The elementwise sum of tensors of one shape; a copy of a single tensor."""
    if isinstance(inputs, Tensor):
        return ops.clone(inputs)
    total, *others = _tensors(inputs, "add_n", "inputs")
    for x in others:
        if tuple(x.shape) != tuple(total.shape):
            raise ShapeError(f"add_n: inputs of one shape, not {list(total.shape)} and {list(x.shape)}")
        total = ops.add(total, x)
    return total if others else ops.clone(total)


def _tensors(values: Any, function: str, name: str) -> list[Tensor]:
    """The values as a list; raises unless they are a nonempty list or tuple of tensors."""
    if not isinstance(values, list | tuple) or not values:
        raise ArgumentError(f"{function}: {name} must be a list of Tensors")
    return [_arguments.tensor(value, function, name) for value in values]


def allclose(
    x: Tensor, y: Tensor, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False, name: str | None = None
) -> Tensor:
    """Whether all elements are close to each other, as a 0-d tensor."""
    return ops.all(ops.isclose(x, y, rtol, atol, equal_nan))


def atan2(x: Tensor, y: Tensor, name: str | None = None) -> Tensor:
    """The angle whose sine and cosine have the signs of x and y, and their ratio. It is float64 for integers."""
    both = (_arguments.tensor(x, "atan2", "x"), _arguments.tensor(y, "atan2", "y"))
    return ops.atan2(ops.cast(x, "float64"), y) if all(one.dtype.kind in "iu" for one in both) else ops.atan2(x, y)


def copysign(x: Tensor, y: Any, name: str | None = None) -> Tensor:
    """The magnitudes of ``x`` with the signs of ``y``. Integers and truth values keep their dtype."""
    x = _arguments.tensor(x, "copysign", "x")
    if x.dtype.kind not in "iub" or (isinstance(y, Tensor) and y.dtype != x.dtype):
        return ops.copysign(x, y)
    # Floats would round large integers.
    positive = ops.abs(x) if x.dtype.kind == "i" else x
    negative = ops.negative(positive) if x.dtype.kind == "i" else x
    if isinstance(y, Tensor):
        return ops.where(ops.less(y, 0), negative, positive)
    return negative if math.copysign(1, y) < 0 else positive


def equal_all(x: Tensor, y: Tensor, name: str | None = None) -> Tensor:
    """Whether two tensors have the same shape and elements, as a 0-d tensor."""
    x, y = _arguments.tensor(x, "equal_all", "x"), _arguments.tensor(y, "equal_all", "y")
    if tuple(x.shape) != tuple(y.shape):
        return ops.zeros([], "bool")
    return ops.all(ops.equal(x, y))


def frac(x: Tensor, name: str | None = None) -> Tensor:
    """The elements without their whole part, with their sign: zeros for integers."""
    return ops.zeros_like(x) if _arguments.tensor(x, "frac", "x").dtype.kind in "iu" else ops.frac(x)


def increment(x: Tensor, value: float = 1.0, name: str | None = None) -> Tensor:
    """Adds ``value`` in place to ``x``, which has one element; returns ``x``. To an integer its whole part is added.

    A leaf that requires a gradient stays one, with the new number.
    """
    if math.prod(_arguments.tensor(x, "increment", "x").shape) != 1:
        raise ShapeError(f"increment: x has one element, not shape {list(x.shape)}")
    number = int(value) if x.dtype.kind in "iu" else value
    with leaf_kept(x):
        return x.add_(number)


def logit(x: Tensor, eps: float | None = None, name: str | None = None) -> Tensor:
    """``log(x / (1 - x))``, with ``x`` clipped to [``eps``, ``1 - eps``] if ``eps`` is given and not 0.

    If ``eps`` is above one half, the lower bound counts.
    """
    return ops.logit(ops.clip(x, eps, max(eps, 1.0 - eps)) if eps else x)


def multiplex(inputs: Sequence[Tensor], index: Tensor, name: str | None = None) -> Tensor:
    """A tensor whose row i is row i of ``inputs[index[i]]``."""
    stacked = ops.stack(_tensors(inputs, "multiplex", "inputs"), 0)
    which = ops.reshape(_arguments.tensor(index, "multiplex", "index"), [-1])
    return _core.from_zero(operator.getitem, stacked, (which, ops.arange(0, which.shape[0], 1, "int64")))


def scale(
    x: Tensor,
    scale: Any = 1.0,
    bias: float = 0.0,
    bias_after_scale: bool = True,
    act: str | None = None,
    name: str | None = None,
) -> Tensor:
    """``scale * x + bias``, or without ``bias_after_scale`` ``scale * (x + bias)``; then the activation ``act``."""
    if _arguments.tensor(x, "scale", "x").dtype.kind in "iu":
        scale, bias = (int(v) if isinstance(v, float) and v.is_integer() else v for v in (scale, bias))
    moved = x if bias_after_scale else ops.add(x, bias)
    y = ops.multiply(moved, scale)
    y = ops.add(y, bias) if bias_after_scale else y
    if act is None:
        return y
    if act not in ("relu", "sigmoid", "softmax", "tanh"):
        raise ArgumentError(f"scale: act is 'relu', 'sigmoid', 'softmax' or 'tanh', not {act!r}")
    activated: Tensor = getattr(ops, act)(y)
    return activated


def stanh(x: Tensor, scale_a: float = 0.67, scale_b: float = 1.7159, name: str | None = None) -> Tensor:
    """``scale_b * tanh(scale_a * x)``."""
    return ops.multiply(ops.tanh(ops.multiply(x, scale_a)), scale_b)


def add(x: Tensor, y: Any, name: str | None = None, *, alpha: float = 1) -> Tensor:
    """``x + alpha * y``."""
    return ops.add(x, y if alpha == 1 else ops.multiply(y, alpha))


def subtract(x: Tensor, y: Any, name: str | None = None, *, alpha: float = 1) -> Tensor:
    """``x - alpha * y``."""
    return ops.subtract(x, y if alpha == 1 else ops.multiply(y, alpha))


def sub(x: Tensor, y: Any, name: str | None = None, *, alpha: float = 1) -> Tensor:
    """The same as :func:`subtract`."""
    return subtract(x, y, alpha=alpha)


def divide(x: Tensor, y: Any, name: str | None = None, *, rounding_mode: str | None = None) -> Tensor:
    """The quotient; with the ``rounding_mode`` "trunc" rounded towards 0, with "floor" down."""
    return quotient(ops, x, y, rounding_mode)


def div(x: Tensor, y: Any, name: str | None = None, *, rounding_mode: str | None = None) -> Tensor:
    """The same as :func:`divide`."""
    return quotient(ops, x, y, rounding_mode)


def floor_mod(x: Tensor, y: Any, name: str | None = None) -> Tensor:
    """The remainder of the quotient that is rounded down."""
    return ops.remainder(x, y)


def _shifted(op: Callable[..., Tensor], x: Tensor, y: Any, is_arithmetic: bool) -> Tensor:
    if is_arithmetic or _arguments.tensor(x, "bitwise_right_shift", "x").dtype.kind != "i":
        return op(x, y)
    # The sign bit moves like the others.
    bits = ops.cast(x, f"uint{8 * x.dtype.itemsize}")
    return ops.cast(op(bits, ops.cast(y, bits.dtype) if isinstance(y, Tensor) else y), x.dtype)


def bitwise_left_shift(x: Tensor, y: Any, is_arithmetic: bool = True, name: str | None = None) -> Tensor:
    """The bits moved left by ``y`` places."""
    return ops.bitwise_left_shift(x, y)


def bitwise_right_shift(x: Tensor, y: Any, is_arithmetic: bool = True, name: str | None = None) -> Tensor:
    """The bits moved right by ``y`` places. The sign is kept, unless ``is_arithmetic`` is False."""
    return _shifted(ops.bitwise_right_shift, x, y, is_arithmetic)


def isneginf(x: Tensor, name: str | None = None) -> Tensor:
    """Whether each element is minus infinity."""
    return ops.logical_and(ops.isinf(x), ops.less(x, 0))


def isposinf(x: Tensor, name: str | None = None) -> Tensor:
    """Whether each element is infinity."""
    return ops.logical_and(ops.isinf(x), ops.greater(x, 0))


def polygamma(x: Tensor, n: int, name: str | None = None) -> Tensor:
    """The ``n``-th derivative of the digamma function."""
    found: Tensor = ops.polygamma(n, x)
    return found


def frexp(x: Tensor, name: str | None = None) -> tuple[Tensor, Tensor]:
    """The elements as ``mantissa * 2**exponent``, with the mantissa in [0.5, 1) and the exponent in the dtype of x."""
    mantissa, exponent = ops.frexp(x)
    return mantissa, ops.cast(exponent, mantissa.dtype)
