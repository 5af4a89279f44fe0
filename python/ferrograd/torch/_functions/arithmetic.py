"""torch's functions whose parameters, defaults or meaning differ from the core's. Each is a tensor method too."""

from __future__ import annotations

from typing import Any

from ferrograd import _core
from ferrograd._core import ArgumentError, DtypeError, ShapeError, torch as ops
from ferrograd._functions.arithmetic import quotient
from ferrograd._kit import arguments as _arguments
from ferrograd._kit.specialize import specialize
from ferrograd.torch import return_types
from ferrograd.torch._functions.reduce import _summed
from ferrograd.torch._tensor import Tensor

__all__ = [
    "add",
    "addcdiv",
    "addcmul",
    "clamp_max",
    "clamp_min",
    "div",
    "divide",
    "equal",
    "fill",
    "frexp",
    "isneginf",
    "isposinf",
    "logit",
    "rsub",
    "sgn",
    "sign",
    "square",
    "sub",
    "subtract",
    "true_divide",
]


def _factor_last(first: Any, others: tuple[Any, ...], factor: float, count: int, name: str) -> tuple[Any, ...]:
    """The tensors and the factor, a number or a tensor without axes. Older programs give it before the tensors:
    ``x.add_(0.5, y)``.
    """
    if len(others) > count:
        raise TypeError(f"{name}() got {len(others) + 2} arguments by place")
    if len(others) < count:
        return (first, *others, factor)
    if (isinstance(first, Tensor) and first.ndim) or factor != 1:
        raise TypeError(f"{name}(): a number is wanted before the tensors, and no other factor")
    return (*others, first)


def _whole(factor: Any, tensors: tuple[Any, ...], function: str) -> Any:
    """A factor of tensors as an integer or truth value if they are; raises if it is not whole beside integers."""
    kinds = {x.dtype.kind for x in tensors if isinstance(x, Tensor)}
    if not isinstance(factor, float):
        return bool(factor) if kinds <= {"b"} else factor
    if not kinds <= set("biu"):
        return factor
    if not factor.is_integer():
        raise ArgumentError(
            f"{function}: For integral input tensors, argument alpha must not be a floating point number, nor beta or "
            f"value, as {factor} is"
        )
    return bool(factor) if kinds <= {"b"} else int(factor)


def add(input: Any, other: Any, *others: Any, alpha: float = 1) -> Tensor:
    """``input + alpha * other``. Older programs write ``add(input, alpha, other)``."""
    other, alpha = _factor_last(other, others, alpha, 1, "add")
    alpha = alpha if alpha == 1 else _whole(alpha, (input, other), "add")
    if alpha != 1 and isinstance(input, Tensor) and isinstance(other, Tensor):
        return ops.addcmul(input, other, alpha)
    return ops.add(input, other if alpha == 1 else other * alpha)


def addcdiv(input: Tensor, tensor1: Any, tensor2: Tensor, *others: Any, value: float = 1) -> Tensor:
    """``input + value * tensor1 / tensor2``. Older programs write ``addcdiv(input, value, tensor1, tensor2)``."""
    tensor1, tensor2, value = _factor_last(tensor1, (tensor2, *others), value, 2, "addcdiv")
    return ops.addcdiv(input, tensor1, tensor2, value)


def addcmul(input: Tensor, tensor1: Any, tensor2: Tensor, *others: Any, value: float = 1) -> Tensor:
    """``input + value * tensor1 * tensor2``. Older programs write ``addcmul(input, value, tensor1, tensor2)``."""
    tensor1, tensor2, value = _factor_last(tensor1, (tensor2, *others), value, 2, "addcmul")
    return ops.addcmul(input, tensor1, tensor2, _whole(value, (input, tensor1, tensor2), "addcmul"))


def clamp_max(input: Tensor, max: Any) -> Tensor:
    """The smaller of ``input`` and ``max``, elementwise."""
    return ops.clamp(input, None, max)


def clamp_min(input: Tensor, min: Any) -> Tensor:
    """The larger of ``input`` and ``min``, elementwise."""
    return ops.clamp(input, min, None)


def equal(input: Tensor, other: Tensor) -> bool:
    """Whether two tensors have the same shape and elements."""
    input, other = _arguments.tensor(input, "equal", "input"), _arguments.tensor(other, "equal", "other")
    if tuple(input.shape) != tuple(other.shape):
        return False
    equal = ops.equal(input, other)
    # A program is for one answer. Inside of vmap there is none.
    return _core.all_hold(equal) if _core.program_modes(tracing=True) is not None else bool(ops.all(equal))


def sign(input: Tensor) -> Tensor:
    """-1, 0 or 1: the sign of each element. Truth values stay as they are."""
    try:
        return ops.sign(input)
    except DtypeError:
        return ops.clone(input)


def sgn(input: Tensor) -> Tensor:
    """:func:`sign`; for a complex number, the number of modulus 1 in its direction."""
    try:
        return ops.sgn(input)
    except DtypeError:
        return ops.clone(input)


def square(input: Tensor) -> Tensor:
    """The square of each element; of truth values an integer."""
    try:
        return ops.square(input)
    except DtypeError:
        return ops.square(_summed(input, "square"))


def sub(input: Any, other: Any, *others: Any, alpha: float = 1) -> Tensor:
    """``input - alpha * other``. Older programs write ``sub(input, alpha, other)``."""
    other, alpha = _factor_last(other, others, alpha, 1, "sub")
    alpha = alpha if alpha == 1 else _whole(alpha, (input, other), "sub")
    return ops.sub(input, other if alpha == 1 else other * alpha)


subtract = specialize("subtract", "The same as :func:`sub`.", sub)


def div(input: Any, other: Any, *, rounding_mode: str | None = None) -> Tensor:
    """The quotient; with the ``rounding_mode`` "trunc" rounded towards 0, with "floor" down.

    Rounded quotients of integers are integers; an integer divided by 0 raises ArgumentError.
    """
    return quotient(ops, input, other, rounding_mode)


def divide(input: Any, other: Any, *, rounding_mode: str | None = None) -> Tensor:
    """The same as :func:`div`."""
    return quotient(ops, input, other, rounding_mode)


def true_divide(input: Any, other: Any) -> Tensor:
    """The quotient."""
    return ops.true_divide(input, other)


def fill(input: Tensor, value: Any) -> Any:
    """A tensor of the shape and dtype of ``input`` with ``value`` as all elements."""
    if isinstance(value, Tensor) and value.ndim:
        raise ShapeError(f"fill only supports 0-dimension value tensor but got tensor with {value.ndim} dimensions.")
    return ops.masked_fill(input, ops.full([], True), value)


def frexp(input: Tensor) -> Any:
    """The elements as ``mantissa * 2**exponent``, with the mantissa in [0.5, 1) and the exponent an int32."""
    x: Any = _arguments.tensor(input, "frexp", "input")
    if x.dtype.kind not in "fV":
        raise DtypeError(f"torch.frexp() only supports floating-point dtypes, not {x.dtype}")
    return return_types.frexp(*ops.frexp(x))


def logit(input: Tensor, eps: float | None = None) -> Tensor:
    """``log(x / (1 - x))``, with ``eps`` of the input clamped to [eps, 1 - eps]."""
    if eps is None:
        return ops.logit(input)
    # If eps is above one half, the lower bound counts. In `clamp` the upper one does.
    high = ops.where(ops.greater(input, 1 - eps), 1 - eps, input)
    return ops.logit(ops.where(ops.less(input, eps), eps, high))


def rsub(input: Any, other: Any, alpha: float = 1) -> Tensor:
    """``other - alpha * input``."""
    return ops.subtract(other, input if alpha == 1 else ops.multiply(input, alpha))


def isneginf(input: Tensor) -> Tensor:
    """Whether each element is minus infinity."""
    return ops.logical_and(ops.isinf(input), ops.less(input, 0))


def isposinf(input: Tensor) -> Tensor:
    """Whether each element is infinity."""
    return ops.logical_and(ops.isinf(input), ops.greater(input, 0))
