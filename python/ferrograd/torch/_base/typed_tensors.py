"""torch's tensor classes: one per dtype, ``Variable``, and the tensors that calling them makes."""

from __future__ import annotations

from typing import Any

import numpy as np

from ferrograd import _core
from ferrograd._core import ArgumentError, torch as ops
from ferrograd._kit.dialect import TORCH
from ferrograd._tensor import dtypes
from ferrograd._tensor.shape import Size
from ferrograd.torch._tensor import Tensor

__all__ = [
    "BFloat16Tensor",
    "BoolTensor",
    "ByteTensor",
    "CharTensor",
    "DoubleTensor",
    "FloatTensor",
    "HalfTensor",
    "IntTensor",
    "LongTensor",
    "ShortTensor",
    "set_default_tensor_type",
]


def made(args: tuple[Any, ...], device: object = None, dtype: Any = None) -> Tensor:
    """The tensor that calling a tensor class makes: zeros from sizes, a tensor of the numbers from numbers, an empty
    vector without arguments. A tensor is returned itself, cast if a dtype is given.

    Without ``dtype`` a tensor keeps its own, anything else gets the default float dtype.
    """
    _core.check_device("Tensor", device)
    data = args[0] if len(args) == 1 else None
    if isinstance(data, Tensor):
        return data if dtype in (None, data.dtype) else ops.cast(data.detach(), dtype)
    dtype = ops.get_default_dtype() if dtype is None else dtype
    if len(args) == 1 and not isinstance(data, (int, np.integer, Size)):
        return _core.make(data, dtype, False, TORCH)
    return ops.zeros(data if isinstance(data, Size) else args or [0], dtype)


class _Class(type):
    """The metaclass of the tensor classes. These only check the dtype, and choose it."""

    dtype: Any

    def __call__(cls, *args: Any, device: object = None) -> Tensor:
        return made(args, device, cls.dtype)

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, Tensor) and bool(instance.dtype == cls.dtype)


def _class(name: str, dtype: str) -> _Class:
    """The class of tensors of one dtype."""
    return _Class(
        name, (), {"__doc__": f"Tensors of {dtype}.", "__module__": __name__, "dtype": dtypes.dtype_of(dtype, TORCH)}
    )


BoolTensor = _class("BoolTensor", "bool")
ByteTensor = _class("ByteTensor", "uint8")
CharTensor = _class("CharTensor", "int8")
ShortTensor = _class("ShortTensor", "int16")
IntTensor = _class("IntTensor", "int32")
LongTensor = _class("LongTensor", "int64")
HalfTensor = _class("HalfTensor", "float16")
BFloat16Tensor = _class("BFloat16Tensor", "bfloat16")
FloatTensor = _class("FloatTensor", "float32")
DoubleTensor = _class("DoubleTensor", "float64")

#: The classes by their names in torch.
CLASSES = {
    f"torch.{c.__name__}": c
    for c in (
        *(BoolTensor, ByteTensor, CharTensor, ShortTensor, IntTensor, LongTensor),
        *(HalfTensor, BFloat16Tensor, FloatTensor, DoubleTensor),
    )
}


def dtype_of(kind: Any) -> Any:
    """The dtype of a tensor class or of the name of one, which is the default for ``Tensor``; a dtype itself."""
    if kind is _core.TorchTensor or kind == "torch.Tensor":
        return ops.get_default_dtype()
    kind = CLASSES.get(kind, kind) if isinstance(kind, str) else kind
    return kind.dtype if isinstance(kind, _Class) else kind


def set_default_tensor_type(t: Any) -> None:
    """Makes the dtype of ``FloatTensor`` or ``DoubleTensor`` the default float dtype."""
    ops.set_default_dtype(dtype_of(t))


class _Variable(type):
    def __call__(cls, data: Any = None, requires_grad: bool = False, volatile: object = None) -> Any:
        if data is None:
            data = made(())
        if not isinstance(data, Tensor):
            raise ArgumentError(f"Variable data has to be a tensor, but got {type(data).__name__}")
        return _core.require_grad(data.detach(), requires_grad)

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, Tensor)


class _Engine:
    """``Variable._execution_engine``, where older programs queue callbacks for the end of a backward pass."""

    queue_callback = staticmethod(_core.queue_callback)


class Variable(metaclass=_Variable):
    """A class that every tensor is an instance of. Calling it makes a leaf that shares the memory of a tensor."""

    _execution_engine = _Engine()
