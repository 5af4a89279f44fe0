"""torch's constants and predicates, and methods of its tensors that are not functions of the namespace."""

from __future__ import annotations

import math
from typing import Any, NamedTuple, cast

import numpy as np

from ferrograd import _arguments, _core
from ferrograd._core import ShapeError, Tensor, TorchTensor
from ferrograd._dialects.numbers import TORCH
from ferrograd._tensor.device import TorchDevice
from ferrograd._tensor.shape import TorchSize
from ferrograd.torch import _random
from ferrograd.torch._classes import CLASSES, dtype_of, made

__all__ = [
    "Size",
    "detach",
    "device",
    "dtype",
    "e",
    "finfo",
    "iinfo",
    "inf",
    "is_anomaly_check_nan_enabled",
    "is_floating_point",
    "is_inference",
    "is_tensor",
    "nan",
    "numel",
    "pi",
    "typename",
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


def detach(input: Tensor) -> Tensor:
    """A tensor that shares the memory and is not tracked."""
    return _arguments.tensor(input, "detach", "input").detach()


def is_tensor(obj: object) -> bool:
    """Whether an object is a tensor."""
    return isinstance(obj, Tensor)


def is_floating_point(input: Tensor) -> bool:
    """Whether the elements are floats."""
    return bool(_arguments.tensor(input, "is_floating_point", "input").dtype.kind == "f")


def is_anomaly_check_nan_enabled() -> bool:
    """True: anomaly detection always checks gradients for NaN."""
    return True


def is_inference(input: Tensor) -> bool:
    """Whether the tensor was made in inference mode."""
    return _arguments.tensor(input, "is_inference", "input").is_inference()


def numel(input: Tensor) -> int:
    """The number of elements."""
    return int(_arguments.tensor(input, "numel", "input").numel())


def typename(obj: object) -> str:
    """The name of the class of an object: of a tensor that for its dtype, of others without ``builtins``.

    >>> import ferrograd.torch as torch
    >>> torch.typename(torch.ones(2)), torch.typename([1])
    ('torch.FloatTensor', 'list')
    """
    if isinstance(obj, TorchTensor):
        return str(cast(Any, obj).type())
    kind = obj if isinstance(obj, type) else type(obj)
    return (
        kind.__qualname__
        if kind.__module__ in ("builtins", "__builtin__")
        else f"{kind.__module__}.{kind.__qualname__}"
    )


class Storage(NamedTuple):
    """The memory that a tensor and its views share, by its address."""

    address: int

    def data_ptr(self) -> int:
        """The address. A write may move it."""
        return self.address


class Methods:
    """Methods of torch's tensor class."""

    def nelement(self: Any) -> int:
        """The number of elements."""
        return int(self.numel())

    def ndimension(self: Any) -> int:
        """The number of axes."""
        return int(self.ndim)

    def type(self: Any, dtype: Any = None, non_blocking: bool = False) -> Any:
        """The name of the tensor class of this dtype. With a dtype or such a name, the tensor cast to it."""
        if dtype is None:
            name = next((name for name, c in CLASSES.items() if c.dtype == self.dtype), None)
            return name or f"torch.{self.dtype.name}"
        return self.astype(dtype_of(dtype))

    def new(self: Any, *args: Any, device: object = None) -> Tensor:
        """A tensor of this dtype: zeros of the sizes given, or the data given."""
        return made(args, device, self.dtype)

    def new_tensor(self: Any, data: Any, *, dtype: Any = None, requires_grad: bool = False) -> Tensor:
        """A tensor of new data, by default with the dtype of this one."""
        return _core.make(data, self.dtype if dtype is None else dtype, requires_grad, TORCH)

    def new_zeros(self: Any, *size: Any, dtype: Any = None, requires_grad: bool = False) -> Any:
        """Zeros of a shape, by default with the dtype of this tensor."""
        return self.new_full(size[0] if len(size) == 1 else size, 0, dtype=dtype, requires_grad=requires_grad)

    def new_empty(self: Any, *size: Any, dtype: Any = None, requires_grad: bool = False) -> Any:
        """A tensor of a shape with unspecified values (zeros), by default with the dtype of this one."""
        return self.new_zeros(*size, dtype=dtype, requires_grad=requires_grad)

    def new_ones(self: Any, *size: Any, dtype: Any = None, requires_grad: bool = False) -> Any:
        """Ones of a shape, by default with the dtype of this tensor."""
        return self.new_full(size[0] if len(size) == 1 else size, 1, dtype=dtype, requires_grad=requires_grad)

    def new_full(self: Any, size: Any, fill_value: Any, *, dtype: Any = None, requires_grad: bool = False) -> Any:
        """A tensor of a shape filled with one number, by default with the dtype of this one.

        Inside ``vmap`` it is batched like this tensor.
        """
        result = _core.torch.full(size, fill_value, self.dtype if dtype is None else dtype)
        if _core.innermost_batch([self]) is not None:
            batched_true = _core.torch.zeros_like(self).sum() == 0
            result = _core.native.where(batched_true, result, result)
        return result.requires_grad_(requires_grad)

    def storage(self: Any) -> Any:
        """The memory that the tensor and its views share."""
        return Storage(self.data_ptr() - self.storage_offset() * self.element_size())

    untyped_storage = storage

    def where(self: Any, condition: Tensor, other: Any) -> Tensor:
        """The elements of this tensor where the condition is true, elsewhere those of ``other``."""
        return _core.torch.where(condition, self, other)

    def fill_diagonal_(self: Any, fill_value: float, wrap: bool = False) -> Any:
        """Writes a number to the diagonal of a matrix, or of a tensor whose axes have equal sizes.

        With ``wrap`` the diagonal of a tall matrix starts again after one row is left out.
        """
        shape = tuple(self.shape)
        if len(shape) < 2 or (len(shape) > 2 and len(set(shape)) > 1):
            raise ShapeError(f"fill_diagonal_: a matrix or axes of one size are wanted, not the shape {list(shape)}")
        if len(shape) > 2:
            at = _core.torch.arange(shape[0])
            self[(at,) * len(shape)] = fill_value
            return self
        _core.torch.diagonal(self).fill_(fill_value)
        if wrap:
            for start in range(shape[1] + 1, shape[0], shape[1] + 1):
                _core.torch.diagonal(self[start:]).fill_(fill_value)
        return self

    @property
    def H(self) -> Any:
        """The conjugate transpose: the last two axes swapped, as all numbers are real."""
        return cast(Any, self).adjoint()

    @property
    def mH(self) -> Any:
        """The conjugate transpose: the last two axes swapped, as all numbers are real."""
        return cast(Any, self).adjoint()

    @property
    def is_cuda(self) -> bool:
        """False: the CPU is the only device."""
        return False

    @property
    def is_sparse(self) -> bool:
        """False: all tensors are dense."""
        return False


for _name, _value in [*vars(Methods).items(), *((name, getattr(_random, name)) for name in _random.__all__)]:
    if not _name.startswith("__"):
        setattr(TorchTensor, _name, _value)
