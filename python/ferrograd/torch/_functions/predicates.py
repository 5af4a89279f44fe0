"""torch's constants and predicates, and the limits of its dtypes."""

from __future__ import annotations

import math
from typing import Any, cast

import numpy as np

from ferrograd import _core
from ferrograd._core import TorchTensor
from ferrograd._functions import array_api
from ferrograd._kit import arguments as _arguments
from ferrograd._kit.dialect import TORCH
from ferrograd._kit.ops import ops
from ferrograd._tensor import dtypes
from ferrograd._tensor.device import TorchDevice
from ferrograd._tensor.shape import TorchSize
from ferrograd.torch._base.answers import accept_synonyms
from ferrograd.torch._base.storage import Storage
from ferrograd.torch._tensor import Tensor

__all__ = [
    "Size",
    "can_cast",
    "detach",
    "device",
    "e",
    "finfo",
    "has_cuda",
    "has_cudnn",
    "has_mps",
    "iinfo",
    "inf",
    "is_anomaly_check_nan_enabled",
    "is_conj",
    "is_floating_point",
    "is_inference",
    "is_neg",
    "is_nonzero",
    "is_same_size",
    "is_signed",
    "is_storage",
    "is_tensor",
    "nan",
    "newaxis",
    "numel",
    "pi",
    "promote_types",
    "result_type",
    "typename",
]


#: The release whose behaviour this dialect follows.
VERSION = f"2.15.0+ferrograd.{_core.__version__}"


Size = TorchSize


device = TorchDevice


newaxis = None


has_cuda = has_cudnn = has_mps = False


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


class finfo:
    """The limits of a float dtype, by default of the default one, as Python floats.

    >>> import ferrograd.torch as torch
    >>> torch.finfo(torch.float32).eps
    1.1920928955078125e-07
    """

    def __init__(self, type: Any = None) -> None:
        try:
            found = dtypes.finfo(_core.torch.get_default_dtype() if type is None else type)
        except ValueError:
            raise TypeError(f"torch.finfo: {type} is no floating point dtype; use torch.iinfo for integers") from None
        self.bits, self.dtype = int(found.bits), str(found.dtype)
        self.eps, self.max, self.min = float(found.eps), float(found.max), float(found.min)
        self.tiny = self.smallest_normal = float(found.tiny)
        self.smallest_subnormal, self.resolution = float(found.smallest_subnormal), float(str(found.resolution))

    def __repr__(self) -> str:
        """All limits."""
        return (
            f"finfo(resolution={self.resolution:g}, min={self.min:g}, max={self.max:g}, eps={self.eps:g}, "
            f"smallest_normal={self.smallest_normal:g}, tiny={self.tiny:g}, dtype={self.dtype})"
        )


class iinfo:
    """The limits of an integer dtype.

    >>> import ferrograd.torch as torch
    >>> torch.iinfo(torch.int8)
    iinfo(min=-128, max=127, dtype=int8)
    """

    def __init__(self, type: Any) -> None:
        try:
            found = np.iinfo(type)
        except ValueError:
            raise TypeError(f"torch.iinfo: {type} is no dtype of integers; use torch.finfo for floats") from None
        self.bits, self.dtype = int(found.bits), str(found.dtype)
        self.max, self.min = int(found.max), int(found.min)

    def __repr__(self) -> str:
        """All limits."""
        return f"iinfo(min={self.min}, max={self.max}, dtype={self.dtype})"


def promote_types(type1: Any, type2: Any) -> Any:
    """The dtype that holds the results of tensors of two dtypes.

    >>> import ferrograd.torch as torch
    >>> torch.promote_types(torch.int32, torch.uint8)
    torch.int32
    """
    return result_type(*(t if isinstance(t, (dtypes.dtype, str)) else np.dtype(t) for t in (type1, type2)))


def result_type(tensor1: Any, tensor2: Any) -> Any:
    """The dtype of a result of two tensors or numbers. Beside a float with axes, a float without axes is a number.

    >>> import ferrograd.torch as torch
    >>> torch.result_type(torch.ones(2), torch.tensor(1.0, dtype=torch.float64))
    torch.float32
    """
    if isinstance(tensor1, Tensor) and isinstance(tensor2, Tensor):
        # An operator decides. It gets tensors of the same dtypes, which have an axis where the given ones have axes.
        one, other = (ops.zeros([0] if x.ndim else [], x.dtype) for x in (tensor1, tensor2))
        return (one * other).dtype
    return dtypes.dtype_of(str(array_api.result_type(tensor1, tensor2)), TORCH)


def can_cast(from_: Any, to: Any) -> bool:
    """Whether torch casts implicitly when it writes: floats not to integers, complex not to floats, none to bool.

    >>> import ferrograd.torch as torch
    >>> torch.can_cast(torch.float64, torch.float32), torch.can_cast(torch.float32, torch.int64)
    (True, False)
    """
    order = "biufc"
    source, target = order.index(dtypes.kind_of(from_)), order.index(dtypes.kind_of(to))
    kinds = [0, 1, 1, 2, 3]
    return kinds[source] <= kinds[target]


def is_conj(input: Tensor) -> bool:
    """False: a conjugate is computed where it is asked for."""
    _arguments.tensor(input, "is_conj", "input")
    return False


def is_neg(input: Tensor) -> bool:
    """False: a negative is computed where it is asked for."""
    _arguments.tensor(input, "is_neg", "input")
    return False


def is_signed(input: Tensor) -> bool:
    """Whether the dtype has negative numbers."""
    return _arguments.tensor(input, "is_signed", "input").dtype.kind in "ifc"


def is_nonzero(input: Tensor) -> bool:
    """Whether the only element is not zero."""
    return bool(_arguments.tensor(input, "is_nonzero", "input"))


def is_same_size(input: Tensor, other: Tensor) -> bool:
    """Whether two tensors have the same shape."""
    input, other = _arguments.tensor(input, "is_same_size", "input"), _arguments.tensor(other, "is_same_size", "other")
    return tuple(input.shape) == tuple(other.shape)


def is_storage(obj: object) -> bool:
    """Whether an object is the memory of a tensor."""
    return isinstance(obj, Storage)


def is_anomaly_check_nan_enabled() -> bool:
    """True: anomaly detection always checks gradients for NaN."""
    return True


def is_inference(input: Tensor) -> bool:
    """Whether the tensor was made in inference mode."""
    return _arguments.tensor(input, "is_inference", "input").is_inference()


@accept_synonyms
def numel(input: Tensor) -> int:
    """The number of elements."""
    return int(_arguments.tensor(input, "numel", "input").numel())


def typename(obj: object) -> str:
    """The name of the class of an object. A tensor has that of its dtype; others are named without ``builtins``.

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
