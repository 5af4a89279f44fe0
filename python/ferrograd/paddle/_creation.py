"""Paddle's functions that create tensors."""

from __future__ import annotations

from typing import Any

from ferrograd import _arguments, _core
from ferrograd._autograd.modes import is_grad_enabled, set_grad_enabled
from ferrograd._core import Tensor
from ferrograd._core import paddle as ops
from ferrograd._dialects.numbers import PADDLE
from ferrograd._dialects.out_argument import placed
from ferrograd._dialects.specialize import specialize

__all__ = [
    "arange",
    "assign",
    "empty",
    "eye",
    "full",
    "full_like",
    "linspace",
    "logspace",
    "normal",
    "ones",
    "ones_like",
    "randint",
    "randint_like",
    "to_tensor",
    "uniform",
    "zeros",
    "zeros_like",
]


def to_tensor(data: Any, dtype: Any = None, place: object = None, stop_gradient: bool = True) -> Tensor:
    """A tensor with a copy of numbers, nested lists, arrays or tensors.

    Python floats get the default float dtype. Arrays and tensors keep their dtype.

    >>> import ferrograd.paddle as paddle
    >>> paddle.to_tensor([[1, 2], [3, 4]], dtype="float32").stop_gradient
    True
    """
    _core.check_device("to_tensor", place)
    return _core.make(data, dtype, not stop_gradient, PADDLE)


def _constant(
    shape: Any,
    dtype: Any = None,
    name: str | None = None,
    *,
    out: Tensor | None = None,
    device: object = None,
    requires_grad: bool = False,
    _op: Any = None,
) -> Tensor:
    _core.check_device(_op.__name__, device)
    return placed(_op(shape, dtype), out, requires_grad)


zeros = specialize(
    "zeros", "Zeros of a shape, in the default float dtype unless one is given.", _constant, _op=ops.zeros
)
ones = specialize("ones", "Ones of a shape, in the default float dtype unless one is given.", _constant, _op=ops.ones)
empty = specialize("empty", "A tensor of a shape with unspecified values; they are zeros.", _constant, _op=ops.zeros)


def full(
    shape: Any,
    fill_value: Any,
    dtype: Any = None,
    name: str | None = None,
    *,
    out: Tensor | None = None,
    device: object = None,
    requires_grad: bool = False,
) -> Tensor:
    """A tensor of a shape filled with one number. The dtype is by default the default float, or bool for a bool."""
    _core.check_device("full", device)
    if dtype is None and not isinstance(fill_value, bool):
        fill_value = float(fill_value)
    return placed(ops.full(shape, fill_value, dtype), out, requires_grad)


def _constant_like(
    x: Tensor,
    dtype: Any = None,
    name: str | None = None,
    *,
    requires_grad: bool = False,
    _op: Any = None,
) -> Tensor:
    return placed(_op(x, dtype), None, requires_grad)


zeros_like = specialize("zeros_like", "Zeros with the shape and dtype of ``x``.", _constant_like, _op=ops.zeros_like)
ones_like = specialize("ones_like", "Ones with the shape and dtype of ``x``.", _constant_like, _op=ops.ones_like)


def full_like(
    x: Tensor, fill_value: Any, dtype: Any = None, name: str | None = None, *, requires_grad: bool = False
) -> Tensor:
    """A tensor filled with one number, with the shape and by default the dtype of another."""
    return placed(ops.full_like(x, fill_value, dtype), None, requires_grad)


def arange(start: Any = 0, end: Any = None, step: Any = 1, dtype: Any = None, name: str | None = None) -> Tensor:
    """The numbers ``start``, ``start + step``, … below ``end``. With one bound they start at 0.

    Each bound and ``step`` may be a tensor of one element.
    """
    start, end, step = (v.item() if isinstance(v, Tensor) else v for v in (start, end, step))
    return ops.arange(start, end, step, dtype)


def linspace(start: Any, stop: Any, num: int, dtype: Any = None, name: str | None = None) -> Tensor:
    """``num`` evenly spaced numbers from ``start`` to ``stop``, both included."""
    return ops.linspace(start, stop, num, dtype)


def logspace(start: Any, stop: Any, num: int, base: Any = 10.0, dtype: Any = None, name: str | None = None) -> Tensor:
    """``base ** x`` for ``num`` evenly spaced numbers ``x`` from ``start`` to ``stop``."""
    return ops.pow(base, ops.linspace(start, stop, num, dtype))


def eye(num_rows: int, num_columns: int | None = None, dtype: Any = None, name: str | None = None) -> Tensor:
    """A matrix with ones on the diagonal and zeros elsewhere."""
    return ops.eye(num_rows, num_columns, 0, dtype)


def assign(x: Any, output: Tensor | None = None) -> Tensor:
    """A copy through which gradients flow. If ``output`` is given, it gets the values and the shape.

    A leaf that gets the values of a constant stays a leaf.
    """
    source = x if isinstance(x, Tensor) else to_tensor(x)
    if output is None:
        return ops.clone(source)
    _arguments.tensor(output, "assign", "output")
    reshapes = source.shape != output.shape
    with set_grad_enabled(is_grad_enabled() and not (output.is_leaf and source.stop_gradient)):
        _core.overwrite(output, "assign", reshapes, lambda _: ops.clone(source), (), {})
    return output


def randint(low: int = 0, high: Any = None, shape: Any = (1,), dtype: Any = None, name: str | None = None) -> Tensor:
    """Random integers in [``low``, ``high``). With one bound they start at 0."""
    return ops.randint(low, high, shape, dtype)


def randint_like(x: Tensor, low: int = 0, high: Any = None, dtype: Any = None, name: str | None = None) -> Tensor:
    """Random integers in [``low``, ``high``) with the shape of a tensor. With one bound they start at 0."""
    x = _arguments.tensor(x, "randint_like", "x")
    first, end = (0, low) if high is None else (low, high)
    return ops.cast(ops.randint(first, end, list(x.shape)), x.dtype if dtype is None else dtype)


def normal(mean: Any = 0.0, std: Any = 1.0, shape: Any = None, name: str | None = None) -> Tensor:
    """Random numbers of the normal distribution. If ``mean`` or ``std`` is a tensor, the shape is theirs."""
    if isinstance(mean, Tensor) or isinstance(std, Tensor):
        return ops.normal(mean, std)
    return ops.normal(mean, std, [1] if shape is None else shape)


def uniform(
    shape: Any, dtype: Any = None, min: float = -1.0, max: float = 1.0, seed: int = 0, name: str | None = None
) -> Tensor:
    """Random numbers of the uniform distribution on [``min``, ``max``). A ``seed`` other than 0 seeds the generator."""
    if seed:
        ops.seed(seed)
    return ops.uniform(min, max, shape, dtype)
