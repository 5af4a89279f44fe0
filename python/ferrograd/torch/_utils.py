"""What libraries use of PyTorch's helpers: several tensors as one vector."""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module
from typing import Any

from ferrograd._core import torch as ops
from ferrograd._kit import public as _public
from ferrograd.torch._functions.shapes import split
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


def _get_device_index(device: Any, optional: bool = False, allow_cpu: bool = False) -> int:
    """-1, the index of the CPU, if the CPU is allowed.

    Raises:
        ValueError: another device is asked for, or the CPU is not allowed.
    """
    if str(device).startswith("cpu") and allow_cpu:
        return -1
    if device is None and optional:
        return 0
    raise ValueError(f"Expected a device with an index, but got: {device}; the CPU is the only one here")


def _rebuild_parameter(data: Tensor, requires_grad: bool, backward_hooks: Any) -> Any:
    """A parameter from its numbers."""
    return _parameters().Parameter(data, requires_grad)


def _rebuild_parameter_with_state(data: Tensor, requires_grad: bool, backward_hooks: Any, state: Any) -> Any:
    """A parameter from its numbers and attributes."""
    made = _rebuild_parameter(data, requires_grad, backward_hooks)
    vars(made).update(state)
    return made


def _parameters() -> Any:
    return import_module("ferrograd.torch.nn.parameter")


def _rebuild_tensor_v2(storage: Any, offset: int, size: Any, stride: Any, *rest: Any) -> Any:
    """A tensor from a vector of numbers and its places in it, as pickles that PyTorch has written make it."""
    return import_module("ferrograd.torch._base.archives")._rebuild_tensor(storage, offset, size, stride, *rest)


_rebuild_tensor = _rebuild_tensor_v2


__dir__ = _public.names(globals())
