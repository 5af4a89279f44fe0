"""Paddle's functions that make tensors."""

from __future__ import annotations

from typing import Any

from ferrograd import _core
from ferrograd._core import Tensor
from ferrograd._core import paddle as ops
from ferrograd.paddle._autograd import PADDLE

__all__ = ["assign", "full", "ones", "to_tensor", "zeros"]


def _placed(result: Tensor, out: Tensor | None, requires_grad: bool) -> Tensor:
    """The result, written into ``out`` if that is given."""
    if out is not None:
        out.set_value(result)
        result = out
    if requires_grad:
        result.stop_gradient = False
    return result


def to_tensor(data: Any, dtype: Any = None, place: object = None, stop_gradient: bool = True) -> Tensor:
    """Numbers, nested lists, arrays or tensors as a tensor, copied.

    Python floats become the default float; what has a dtype keeps it.

    >>> import ferrograd.paddle as paddle
    >>> paddle.to_tensor([[1, 2], [3, 4]], dtype="float32").stop_gradient
    True
    """
    return _core.make(data, dtype, not stop_gradient, PADDLE)


def zeros(
    shape: Any,
    dtype: Any = None,
    name: str | None = None,
    *,
    out: Tensor | None = None,
    device: object = None,
    requires_grad: bool = False,
) -> Tensor:
    """Zeros of a shape."""
    return _placed(ops.zeros(shape, dtype), out, requires_grad)


def ones(
    shape: Any,
    dtype: Any = None,
    name: str | None = None,
    *,
    out: Tensor | None = None,
    device: object = None,
    requires_grad: bool = False,
) -> Tensor:
    """Ones of a shape."""
    return _placed(ops.ones(shape, dtype), out, requires_grad)


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
    if dtype is None and isinstance(fill_value, bool):
        dtype = "bool"
    return _placed(ops.full(shape, fill_value, dtype or "float32"), out, requires_grad)


def assign(x: Any, output: Tensor | None = None) -> Tensor:
    """A copy through which gradients flow, written into ``output`` if that is given."""
    if not isinstance(x, Tensor):
        x = to_tensor(x)
    return _placed(ops.clone(x), output, False)
