"""Methods that the tensors of both dialects have and their namespaces do not."""

from __future__ import annotations

from typing import Any

from ferrograd import _core
from ferrograd._core import LeafInplaceError, Tensor
from ferrograd._functions.casts import cast

__all__ = [
    "bfloat16",
    "bool",
    "byte",
    "char",
    "double",
    "float",
    "half",
    "int",
    "is_floating_point",
    "long",
    "positive",
    "set_",
    "short",
    "type_as",
]


def _as(input: Tensor, dtype: Any) -> Tensor:
    """The tensor cast to a dtype; the tensor itself if it has it."""
    return input if input.dtype == dtype else cast(input, dtype)


def bfloat16(input: Tensor, memory_format: Any = None) -> Tensor:
    """The tensor cast to bfloat16."""
    return _as(input, "bfloat16")


def bool(input: Tensor, memory_format: Any = None) -> Tensor:
    """The tensor cast to bool."""
    return _as(input, "bool")


def byte(input: Tensor, memory_format: Any = None) -> Tensor:
    """The tensor cast to uint8."""
    return _as(input, "uint8")


def char(input: Tensor, memory_format: Any = None) -> Tensor:
    """The tensor cast to int8."""
    return _as(input, "int8")


def double(input: Tensor, memory_format: Any = None) -> Tensor:
    """The tensor cast to float64."""
    return _as(input, "float64")


def float(input: Tensor, memory_format: Any = None) -> Tensor:
    """The tensor cast to float32."""
    return _as(input, "float32")


def half(input: Tensor, memory_format: Any = None) -> Tensor:
    """The tensor cast to float16."""
    return _as(input, "float16")


def int(input: Tensor, memory_format: Any = None) -> Tensor:
    """The tensor cast to int32."""
    return _as(input, "int32")


def long(input: Tensor, memory_format: Any = None) -> Tensor:
    """The tensor cast to int64."""
    return _as(input, "int64")


def short(input: Tensor, memory_format: Any = None) -> Tensor:
    """The tensor cast to int16."""
    return _as(input, "int16")


def type_as(input: Tensor, other: Tensor) -> Tensor:
    """The tensor cast to the dtype of another one."""
    return _as(input, other.dtype)


def is_floating_point(input: Tensor) -> Any:
    """Whether the elements are floats."""
    return input.dtype.kind == "f"


def positive(input: Tensor) -> Any:
    """The tensor itself."""
    return input


def set_(input: Tensor, source: Tensor | None = None) -> Tensor:
    """Takes over the memory of another tensor, and its shape if this is a leaf. Nothing is recorded.

    Without ``source`` it is left with no elements.

    A tensor that requires a gradient is set under ``no_grad`` only. It stays a leaf or the result of its op.
    """
    if _core.is_grad_enabled() and not input.stop_gradient:
        what = "a leaf Variable" if input.is_leaf else "a result"
        raise LeafInplaceError(f"set_: {what} that requires grad is set under no_grad only")
    input.data = input.detach().reshape([-1])[:0].clone() if source is None else source
    return input
