"""torch's constants and questions, as far as they say anything here, and what its tensors have besides functions."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ferrograd import _check, _core
from ferrograd._core import Tensor, TorchTensor
from ferrograd._device import TorchDevice
from ferrograd._size import TorchSize
from ferrograd.torch._autograd import TORCH

__all__ = [
    "Size",
    "device",
    "dtype",
    "e",
    "finfo",
    "iinfo",
    "inf",
    "is_floating_point",
    "is_tensor",
    "nan",
    "numel",
    "pi",
]

#: The release whose behaviour this dialect follows.
VERSION = f"2.15.0+ferrograd.{_core.__version__}"

Size = TorchSize
device = TorchDevice
dtype = np.dtype
finfo = np.finfo
iinfo = np.iinfo
e = math.e
inf = math.inf
nan = math.nan
pi = math.pi

#: What torch calls the tensors of a dtype.
TYPES = {
    "bool": "BoolTensor",
    "uint8": "ByteTensor",
    "int8": "CharTensor",
    "int16": "ShortTensor",
    "int32": "IntTensor",
    "int64": "LongTensor",
    "float32": "FloatTensor",
    "float64": "DoubleTensor",
}


def is_tensor(obj: object) -> bool:
    """Whether an object is a tensor."""
    return isinstance(obj, Tensor)


def is_floating_point(input: Tensor) -> bool:
    """Whether the elements are floats."""
    return bool(_check.tensor(input, "is_floating_point", "input").dtype.kind == "f")


def numel(input: Tensor) -> int:
    """The number of elements."""
    return int(_check.tensor(input, "numel", "input").numel())


class Methods:
    """What is put on torch's tensor class, and nowhere else."""

    def nelement(self: Any) -> int:
        """The number of elements."""
        return int(self.numel())

    def ndimension(self: Any) -> int:
        """The number of axes."""
        return int(self.ndim)

    def type(self: Any, dtype: Any = None, non_blocking: bool = False) -> Any:
        """The name of the class of tensors with this dtype; with a dtype (or such a name), the tensor cast to it."""
        if dtype is None:
            return f"torch.{TYPES.get(self.dtype.name, self.dtype.name)}"
        names = {f"torch.{name}": own for own, name in TYPES.items()}
        return self.astype(names.get(dtype, dtype) if isinstance(dtype, str) else dtype)

    def new_tensor(self: Any, data: Any, *, dtype: Any = None, requires_grad: bool = False) -> Tensor:
        """A tensor of new data with this one's dtype."""
        return _core.make(data, self.dtype if dtype is None else dtype, requires_grad, TORCH)

    def new_zeros(self: Any, *size: Any, dtype: Any = None, requires_grad: bool = False) -> Any:
        """Zeros of a shape with this tensor's dtype."""
        return self.new_full(size[0] if len(size) == 1 else size, 0, dtype=dtype, requires_grad=requires_grad)

    def new_ones(self: Any, *size: Any, dtype: Any = None, requires_grad: bool = False) -> Any:
        """Ones of a shape with this tensor's dtype."""
        return self.new_full(size[0] if len(size) == 1 else size, 1, dtype=dtype, requires_grad=requires_grad)

    def new_full(self: Any, size: Any, fill_value: Any, *, dtype: Any = None, requires_grad: bool = False) -> Any:
        """One number in a whole shape with this tensor's dtype."""
        result = _core.torch.full(size, fill_value, self.dtype if dtype is None else dtype)
        return result.requires_grad_(requires_grad)


for _name, _value in vars(Methods).items():
    if not _name.startswith("__"):
        setattr(TorchTensor, _name, _value)
