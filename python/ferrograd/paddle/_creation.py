"""Paddle's functions that make tensors."""

from __future__ import annotations

from typing import Any

from ferrograd import _arguments, _core
from ferrograd._autograd.modes import is_grad_enabled, set_grad_enabled
from ferrograd._core import Tensor
from ferrograd._core import paddle as ops
from ferrograd._dialects.out_argument import placed
from ferrograd._dialects.specialize import specialize
from ferrograd.paddle._autograd import PADDLE

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
    """Numbers, nested lists, arrays or tensors as a tensor, copied.

    Python floats become the default float; what has a dtype keeps it.

    >>> import ferrograd.paddle as paddle
    >>> paddle.to_tensor([[1, 2], [3, 4]], dtype="float32").stop_gradient
    True
    """
    return _core.make(data, dtype, not stop_gradient, PADDLE)


def _constant(
    op: Any,
    shape: Any,
    dtype: Any = None,
    name: str | None = None,
    *,
    out: Tensor | None = None,
    device: object = None,
    requires_grad: bool = False,
) -> Tensor:
    return placed(op(shape, dtype), out, requires_grad)


zeros = specialize("zeros", "Zeros of a shape, in the default float dtype unless one is given.", _constant, ops.zeros)
ones = specialize("ones", "Ones of a shape, in the default float dtype unless one is given.", _constant, ops.ones)
empty = specialize("empty", "A tensor of a shape with unspecified values; they are zeros.", _constant, ops.zeros)


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
    """One number in a whole shape; of the default float unless a dtype is given, or the number is a truth value."""
    if dtype is None and not isinstance(fill_value, bool):
        fill_value = float(fill_value)
    return placed(ops.full(shape, fill_value, dtype), out, requires_grad)


def _constant_like(
    op: Any, x: Tensor, dtype: Any = None, name: str | None = None, *, requires_grad: bool = False
) -> Tensor:
    return placed(op(x, dtype), None, requires_grad)


zeros_like = specialize("zeros_like", "Zeros with the shape and dtype of ``x``.", _constant_like, ops.zeros_like)
ones_like = specialize("ones_like", "Ones with the shape and dtype of ``x``.", _constant_like, ops.ones_like)


def full_like(
    x: Tensor, fill_value: Any, dtype: Any = None, name: str | None = None, *, requires_grad: bool = False
) -> Tensor:
    """One number in the shape of a tensor, and in its dtype unless one is given."""
    return placed(ops.full_like(x, fill_value, dtype), None, requires_grad)


def arange(start: Any = 0, end: Any = None, step: Any = 1, dtype: Any = None, name: str | None = None) -> Tensor:
    """The numbers from ``start`` on, ``step`` apart, before ``end``; from 0 up to ``start`` without an ``end``.

    Each of the three may be a tensor of one element.
    """
    start, end, step = (v.item() if isinstance(v, Tensor) else v for v in (start, end, step))
    return ops.arange(start, end, step, dtype)


def linspace(start: Any, stop: Any, num: int, dtype: Any = None, name: str | None = None) -> Tensor:
    """``num`` numbers at equal distances from ``start`` to ``stop``."""
    return ops.linspace(start, stop, num, dtype)


def logspace(start: Any, stop: Any, num: int, base: Any = 10.0, dtype: Any = None, name: str | None = None) -> Tensor:
    """``base`` to the powers of ``num`` numbers at equal distances from ``start`` to ``stop``."""
    return ops.pow(base, ops.linspace(start, stop, num, dtype))


def eye(num_rows: int, num_columns: int | None = None, dtype: Any = None, name: str | None = None) -> Tensor:
    """A matrix with ones on its diagonal, zeros elsewhere."""
    return ops.eye(num_rows, num_columns, 0, dtype)


def assign(x: Any, output: Tensor | None = None) -> Tensor:
    """A copy through which gradients flow, written over ``output``, whatever its shape, if that is given.

    A leaf takes the values of a constant and stays a leaf.
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
    """Integers from ``low`` (0 if one bound is given) up to, and without, ``high``."""
    return ops.randint(low, high, shape, dtype)


def randint_like(x: Tensor, low: int = 0, high: Any = None, dtype: Any = None, name: str | None = None) -> Tensor:
    """Integers from ``low`` (0 if one bound is given) up to, and without, ``high``, in the shape of a tensor."""
    x = _arguments.tensor(x, "randint_like", "x")
    first, end = (0, low) if high is None else (low, high)
    return ops.cast(ops.randint(first, end, list(x.shape)), x.dtype if dtype is None else dtype)


def normal(mean: Any = 0.0, std: Any = 1.0, shape: Any = None, name: str | None = None) -> Tensor:
    """Normal numbers of a mean and a standard deviation. Where one of these is a tensor, the shape is theirs."""
    if isinstance(mean, Tensor) or isinstance(std, Tensor):
        return ops.normal(mean, std)
    return ops.normal(mean, std, [1] if shape is None else shape)


def uniform(
    shape: Any, dtype: Any = None, min: float = -1.0, max: float = 1.0, seed: int = 0, name: str | None = None
) -> Tensor:
    """Numbers spread evenly over [``min``, ``max``); with a ``seed`` other than 0, the stream starts anew from it."""
    if seed:
        ops.seed(seed)
    return ops.uniform(min, max, shape, dtype)
