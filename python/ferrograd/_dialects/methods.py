"""Methods of both dialects' tensors that are no functions of their namespaces."""

from __future__ import annotations

from typing import Any

from ferrograd import _core
from ferrograd._core import LeafInplaceError, Tensor
from ferrograd._core import native as ops

__all__ = [
    "bool",
    "byte",
    "char",
    "double",
    "float",
    "int",
    "is_floating_point",
    "long",
    "positive",
    "set_",
    "short",
    "type_as",
]


def _as(input: Tensor, dtype: Any) -> Tensor:
    """The tensor in a dtype: itself if it has that."""
    return input if input.dtype == dtype else ops.cast(input, dtype)


def bool(input: Tensor) -> Tensor:
    """As truth values."""
    return _as(input, "bool")


def byte(input: Tensor) -> Tensor:
    """As uint8."""
    return _as(input, "uint8")


def char(input: Tensor) -> Tensor:
    """As int8."""
    return _as(input, "int8")


def double(input: Tensor) -> Tensor:
    """As float64."""
    return _as(input, "float64")


def float(input: Tensor) -> Tensor:
    """As float32."""
    return _as(input, "float32")


def int(input: Tensor) -> Tensor:
    """As int32."""
    return _as(input, "int32")


def long(input: Tensor) -> Tensor:
    """As int64."""
    return _as(input, "int64")


def short(input: Tensor) -> Tensor:
    """As int16."""
    return _as(input, "int16")


def type_as(input: Tensor, other: Tensor) -> Tensor:
    """In the dtype of another tensor."""
    return _as(input, other.dtype)


def is_floating_point(input: Tensor) -> Any:
    """Whether the elements are floats."""
    return input.dtype.kind == "f"


def positive(input: Tensor) -> Any:
    """The tensor itself."""
    return input


def set_(input: Tensor, source: Tensor) -> Tensor:
    """Takes the memory of another tensor, and its shape where this is a leaf. Nothing of it is recorded: a tracked
    tensor is set under ``no_grad``, and stays the leaf, or the result, that it is."""
    if _core.is_grad_enabled() and not input.stop_gradient:
        what = "a leaf Variable" if input.is_leaf else "a result"
        raise LeafInplaceError(f"set_: {what} that requires grad is set under no_grad only")
    input.data = source
    return input
