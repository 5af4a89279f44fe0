"""What libraries use of PyTorch's helpers: several tensors as one vector."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ferrograd import _public
from ferrograd._core import torch as ops
from ferrograd.torch._functions import split
from ferrograd.torch._tensor import Tensor

__all__: list[str] = []


def _flatten_dense_tensors(tensors: Iterable[Tensor]) -> Tensor:
    """The elements of tensors of one dtype one after the other, as a vector."""
    return ops.concat([ops.reshape(x, [-1]) for x in tensors])


def _unflatten_dense_tensors(flat: Tensor, tensors: Iterable[Tensor]) -> tuple[Tensor, ...]:
    """Parts of a vector in the shapes of tensors: undoes :func:`_flatten_dense_tensors`."""
    likes = list(tensors)
    parts = split(flat, [x.numel() for x in likes])
    return tuple(ops.reshape(part, list(x.shape)) for part, x in zip(parts, likes, strict=True))


def _element_size(dtype: Any) -> int:
    """The bytes of an element of a dtype."""
    return int(dtype.itemsize)


__dir__ = _public.names(globals())
