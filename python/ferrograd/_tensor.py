"""Methods of both dialects' tensors that are no functions of their namespaces."""

from __future__ import annotations

from typing import Any

from ferrograd._core import Tensor
from ferrograd._core import native as ops

__all__ = ["bool", "byte", "char", "data", "double", "float", "int", "is_floating_point", "long", "short", "type_as"]


def bool(input: Tensor) -> Tensor:
    """As truth values."""
    return ops.cast(input, "bool")


def byte(input: Tensor) -> Tensor:
    """As uint8."""
    return ops.cast(input, "uint8")


def char(input: Tensor) -> Tensor:
    """As int8."""
    return ops.cast(input, "int8")


def double(input: Tensor) -> Tensor:
    """As float64."""
    return ops.cast(input, "float64")


def float(input: Tensor) -> Tensor:
    """As float32."""
    return ops.cast(input, "float32")


def int(input: Tensor) -> Tensor:
    """As int32."""
    return ops.cast(input, "int32")


def long(input: Tensor) -> Tensor:
    """As int64."""
    return ops.cast(input, "int64")


def short(input: Tensor) -> Tensor:
    """As int16."""
    return ops.cast(input, "int16")


def type_as(input: Tensor, other: Tensor) -> Tensor:
    """In the dtype of another tensor."""
    return ops.cast(input, other.dtype)


def is_floating_point(input: Tensor) -> Any:
    """Whether the elements are floats."""
    return input.dtype.kind == "f"


def _values(input: Tensor) -> Tensor:
    """The same values, untracked. A tensor given instead is copied into this one, which stays the leaf that it is."""
    return input.detach()


data = property(_values, lambda input, value: input.set_value(value))
