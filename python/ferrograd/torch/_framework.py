"""torch's constants and predicates, and methods of its tensors that are not functions of the namespace."""

from __future__ import annotations

import math
import warnings
from numbers import Number
from typing import Any, NamedTuple, cast

import numpy as np

from ferrograd import _arguments, _array_api, _core
from ferrograd._core import ArgumentError, ShapeError, TorchTensor
from ferrograd._core import torch as ops
from ferrograd._dialects.adapters import accept_synonyms
from ferrograd._dialects.numbers import TORCH
from ferrograd._tensor import dtypes
from ferrograd._tensor.device import TorchDevice
from ferrograd._tensor.shape import TorchSize
from ferrograd.torch import _creation, _random, _special
from ferrograd.torch._classes import CLASSES, dtype_of, made
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
        self.smallest_subnormal, self.resolution = float(found.smallest_subnormal), float(found.resolution)

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
    for one, other in ((tensor1, tensor2), (tensor2, tensor1)):
        if isinstance(one, Tensor) and isinstance(other, Tensor) and one.ndim and not other.ndim:
            order = "biufc"
            kinds = [t.dtype.kind.replace("V", "f") for t in (one, other)]
            if kinds[0] in "fc" and order.index(kinds[1]) <= order.index(kinds[0]):
                return one.dtype
    return dtypes.dtype_of(str(_array_api.result_type(tensor1, tensor2)), TORCH)


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


_numpy: Any = TorchTensor.numpy
_core_of: Any = TorchTensor
_copy, _deepcopy, _reduce = _core_of.__copy__, _core_of.__deepcopy__, _core_of.__reduce_ex__
_contains: Any = TorchTensor.__contains__


class _Bytes:
    """The bytes of a file, as readers of formats such as that of safetensors use them."""

    def __init__(self, values: Any) -> None:
        self._values = values

    def untyped(self) -> _Bytes:
        """The bytes themselves."""
        return self

    def nbytes(self) -> int:
        """Their number."""
        return int(self._values.size)

    def __getitem__(self, index: slice) -> Any:
        """Some of them, as a NumPy array."""
        return self._values[index]


class Storage(NamedTuple):
    """The memory that a tensor and its views share, by its address and its number of bytes."""

    address: int
    total: int = 0

    @property
    def _cdata(self) -> int:
        """The address, as a name of the memory."""
        return self.address

    def data_ptr(self) -> int:
        """The address. A write may move it."""
        return self.address

    def nbytes(self) -> int:
        """The number of bytes."""
        return self.total

    @classmethod
    def from_file(cls, filename: Any, shared: bool = False, nbytes: int = 0, *, size: int = 0) -> Any:
        """The bytes of a file, for readers of formats such as that of safetensors: slices of it are NumPy arrays.

        Raises:
            ArgumentError: with ``shared``, which would write to the file.
        """
        if shared:
            raise ArgumentError("UntypedStorage.from_file: files are only read; shared must be False")
        return _Bytes(np.memmap(filename, np.uint8, "r", shape=(nbytes or size,)))

    def size(self) -> int:
        """The number of bytes, too: the memory has no dtype."""
        return self.total


class Methods:
    """Methods of torch's tensor class."""

    @property
    def _grad(self: Any) -> Any:
        """The gradient, by the name that older programs write to."""
        return self.grad

    @_grad.setter
    def _grad(self: Any, value: Any) -> None:
        self.grad = value

    @property
    def _cdata(self) -> int:
        """A number that no other living tensor has."""
        return id(self)

    @staticmethod
    def _make_subclass(cls: Any, data: Any, require_grad: bool = False) -> Any:
        """A tensor of a subclass that shares the memory of another."""
        made: Any = _core.TorchTensor.__new__(cls, data.detach())
        made.requires_grad = require_grad
        return made

    def as_subclass(self: Any, cls: Any) -> Any:
        """A tensor of a subclass with the memory and the graph of this one."""
        if not (isinstance(cls, type) and issubclass(cls, _core.TorchTensor)):
            raise TypeError(
                "as_subclass: Creating a Tensor subclass from a class that does not inherit from Tensor is not possible"
            )
        made: Any = _core.TorchTensor.__new__(cls, self.detach())
        if self.requires_grad:
            _core.overwrite(made, "as_subclass", False, lambda _: self.view_as(self), (), {})
        return made

    def __copy__(self: Any) -> Any:
        """A tensor of the same class with copied values and the same attributes."""
        return _of_class(type(self), _copy(self))

    def __deepcopy__(self: Any, memo: dict[int, Any]) -> Any:
        """A tensor of the same class with copied values and attributes."""
        if id(self) not in memo:
            memo[id(self)] = _of_class(type(self), _deepcopy(self, memo))
        return memo[id(self)]

    def __reduce_ex__(self: Any, protocol: Any) -> Any:
        """The values and the attributes, and the class if it is a subclass."""
        made = _reduce(self, protocol)
        if type(self) is _core.TorchTensor:
            return made
        return _rebuild_of_class, (type(self), *made)

    def numpy(self: Any, *, force: bool = False) -> np.ndarray[Any, Any]:
        """The numbers as a read-only array that shares the memory. With ``force`` a tracked tensor is detached."""
        found: np.ndarray[Any, Any] = _numpy(self.detach() if force else self)
        return found

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
        dtype = dtype_of(dtype)
        return self if dtype == self.dtype else self.astype(dtype)

    def new(self: Any, *args: Any, device: object = None) -> Tensor:
        """A tensor of this dtype: zeros of the sizes given, or the data given."""
        return made(args, device, self.dtype)

    def new_tensor(
        self: Any,
        data: Any,
        *,
        dtype: Any = None,
        layout: object = None,
        device: object = None,
        pin_memory: bool = False,
        requires_grad: bool = False,
    ) -> Tensor:
        """A tensor of new data, by default with the dtype of this one."""
        _core.check_device("new_tensor", device)
        return _core.make(data, self.dtype if dtype is None else dtype, requires_grad, TORCH)

    def new_zeros(self: Any, *sizes: Any, size: Any = None, **options: Any) -> Any:
        """Zeros of a shape, by default with the dtype of this tensor; ``options`` are those of :meth:`new_full`."""
        return self.new_full(_creation._shape(sizes, size), 0, **options)

    def cholesky_solve(self: Any, input2: Any, upper: bool = False) -> Any:
        """Solves ``A x = self``, where ``input2`` is the Cholesky factor of ``A``."""
        return ops.cholesky_solve(self, input2, upper)

    def orgqr(self: Any, input2: Any) -> Any:
        """The product of the Householder reflections in this matrix, whose factors are ``input2``."""
        return ops.orgqr(self, input2)

    def polygamma(self: Any, n: int) -> Any:
        """The derivative of order ``n`` of the digamma function."""
        return ops.polygamma(n, self)

    def polygamma_(self: Any, n: int) -> Any:
        """:meth:`polygamma` in place."""
        return _core.overwrite(self, "polygamma", False, lambda x: ops.polygamma(n, x), (), {})

    def new_empty(self: Any, *sizes: Any, size: Any = None, **options: Any) -> Any:
        """A tensor of a shape with unspecified values, which are zeros: see :meth:`new_zeros`."""
        return self.new_zeros(*sizes, size=size, **options)

    def new_empty_strided(self: Any, size: Any, stride: Any, dtype: Any = None, **options: Any) -> Any:
        """:func:`ferrograd.torch.empty_strided`, by default with the dtype of this tensor."""
        return _creation.empty_strided(size, stride, dtype=self.dtype if dtype is None else dtype, **options)

    def resize(self: Any, *sizes: Any) -> Any:
        """The tensor in another shape of as many elements.

        Raises:
            ShapeError: the shape has another number of elements.
        """
        shape = _arguments.integers(_creation._shape(sizes, None), "resize", "sizes")
        if math.prod(shape) != self.numel():
            raise ShapeError(
                f"resize: the shape {shape} is not one of {self.numel()} elements; resize_ changes the number"
            )
        return ops.reshape(self, shape)

    def resize_as(self: Any, tensor: Any) -> Any:
        """The tensor in the shape of another one: see :meth:`resize`."""
        return self.resize(_arguments.tensor(tensor, "resize_as", "tensor").shape)

    def resize_(self: Any, *sizes: Any, size: Any = None, memory_format: Any = None) -> Any:
        """Gives the tensor another shape. It keeps its first elements; zeros follow if there are more.

        Raises:
            ArgumentError: the tensor requires a gradient.
        """
        shape = _arguments.integers(_creation._shape(sizes, size), "resize_", "sizes")
        if not self.stop_gradient:
            raise ArgumentError("cannot resize variables that require grad")
        n, flat = math.prod(shape), ops.reshape(self, [-1])
        kept = flat[:n] if n <= self.numel() else ops.concat([flat, ops.zeros([n - self.numel()], self.dtype)])
        self.data = _creation._formatted(ops.reshape(kept, shape), memory_format)
        return self

    def resize_as_(self: Any, other: Any, *, memory_format: Any = None) -> Any:
        """Gives the tensor the shape of another one: see :meth:`resize_`."""
        return self.resize_(_arguments.tensor(other, "resize_as_", "other").shape, memory_format=memory_format)

    def new_ones(self: Any, *sizes: Any, size: Any = None, **options: Any) -> Any:
        """Ones of a shape, by default with the dtype of this tensor; ``options`` are those of :meth:`new_full`."""
        return self.new_full(_creation._shape(sizes, size), 1, **options)

    def new_full(
        self: Any,
        size: Any,
        fill_value: Any,
        *,
        dtype: Any = None,
        layout: object = None,
        device: object = None,
        pin_memory: bool = False,
        requires_grad: bool = False,
    ) -> Any:
        """A tensor of a shape filled with one number, by default with the dtype of this one.

        Inside ``vmap`` it is batched like this tensor.
        """
        _core.check_device("new_full", device)
        result = _core.torch.full(size, fill_value, self.dtype if dtype is None else dtype)
        if _core.batches([self]):
            batched_true = _core.torch.zeros_like(self).sum() == 0
            result = _core.native.where(batched_true, result, result)
        return result.requires_grad_(requires_grad)

    def storage(self: Any) -> Any:
        """The memory that the tensor and its views share."""
        whole, size = self if self._base is None else self._base, self.element_size()
        return Storage(self.data_ptr() - self.storage_offset() * size, int(whole.numel() * whole.element_size()))

    untyped_storage = storage

    def __contains__(self: Any, element: Any) -> bool:
        """Whether an element equals a number, or an element of a tensor that broadcasts to this one."""
        if not isinstance(element, Tensor | Number | np.generic):
            raise ArgumentError(f"a tensor contains numbers and tensors, and not a {type(element).__name__}")
        return bool(_contains(self, element))

    def where(self: Any, condition: Tensor, other: Any) -> Tensor:
        """The elements of this tensor where the condition is true, elsewhere those of ``other``."""
        return _special.where(condition, self, other)

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
        for start in [0, *(range(shape[1] + 1, shape[0], shape[1] + 1) if wrap else ())]:
            _core.torch.diagonal(self[start:]).fill_(fill_value)
        return self

    def __reversed__(self: Any) -> Any:
        """The tensor with its first axis reversed."""
        return self.flip(0) if self.ndim else self

    @property
    def H(self) -> Any:
        """The conjugate transpose: the last two axes swapped, and complex numbers conjugated."""
        return cast(Any, self).adjoint()

    @property
    def mH(self) -> Any:
        """The conjugate transpose: the last two axes swapped, and complex numbers conjugated."""
        return cast(Any, self).adjoint()

    def cuda(self: Any, device: object = None, non_blocking: bool = False, memory_format: Any = None) -> Any:
        """Raises: there is no GPU."""
        raise ArgumentError(
            "cuda: there is no GPU; the tensor stays on the CPU if the call is left out, or guarded by "
            "torch.cuda.is_available()"
        )

    def pin_memory(self: Any, device: object = None) -> Any:
        """The tensor itself: there is no device to copy it to faster."""
        return self

    def is_pinned(self: Any, device: object = None) -> bool:
        """False: there is no device to copy it to."""
        return False

    def get_device(self: Any) -> int:
        """-1, the number of the CPU."""
        return -1

    def is_nonzero(self: Any) -> bool:
        """Whether the only element is not zero."""
        return bool(self)

    def is_same_size(self: Any, other: Tensor) -> bool:
        """Whether two tensors have the same shape."""
        return tuple(self.shape) == tuple(other.shape)

    def is_signed(self: Any) -> bool:
        """Whether the dtype has negative numbers."""
        return is_signed(self)

    def is_complex(self: Any) -> bool:
        """Whether the elements are complex."""
        return dtypes.kind_of(self.dtype) == "c"

    def is_conj(self: Any) -> bool:
        """False: a conjugate is computed where it is asked for."""
        return False

    def is_neg(self: Any) -> bool:
        """False: a negative is computed where it is asked for."""
        return False

    def cfloat(self: Any, memory_format: Any = None) -> Any:
        """The tensor cast to complex64."""
        return self.to("complex64")

    def cdouble(self: Any, memory_format: Any = None) -> Any:
        """The tensor cast to complex128."""
        return self.to("complex128")

    def chalf(self: Any, memory_format: Any = None) -> Any:
        """Raises: no complex numbers of two halves are here."""
        raise _core.DtypeError("chalf: tensors of complex32 are not here; write cfloat() for complex64")

    def float_power_(self: Any, exponent: Any) -> Any:
        """The powers of :func:`float_power`, written to this tensor, which is of float64 or complex128."""
        if self.dtype.name not in ("float64", "complex128"):
            raise _core.DtypeError(
                f"float_power_: the results are of double precision, and the tensor is {self.dtype.name}; write "
                "x = x.float_power(exponent)"
            )
        return _core.overwrite(self, "float_power", False, _core.torch.float_power, (exponent,), {})

    def multinomial(self: Any, num_samples: int, replacement: bool = False, *, generator: Any = None) -> Any:
        """Random indices into a vector of weights, or into each row of a matrix, by their shares of the sum."""
        return _creation.multinomial(self, num_samples, replacement, generator=generator)

    is_cpu = property(lambda self: True, doc="True: the CPU is the only device.")
    is_cuda = property(lambda self: False, doc="False: the CPU is the only device.")
    is_mps = property(lambda self: False, doc="False: the CPU is the only device.")
    is_xpu = property(lambda self: False, doc="False: the CPU is the only device.")
    is_meta = property(lambda self: False, doc="False: all tensors have elements.")
    is_quantized = property(lambda self: False, doc="False: elements are numbers.")
    is_mkldnn = property(lambda self: False, doc="False: all tensors are strided.")
    is_nested = property(lambda self: False, doc="False: all tensors have one shape.")

    is_sparse = property(lambda self: False, doc="False: all tensors are dense.")
    is_sparse_csr = property(lambda self: False, doc="False: all tensors are dense.")


def _of_class(cls: Any, tensor: Any) -> Any:
    """A leaf as one of a subclass."""
    if cls is type(tensor):
        return tensor
    made: Any = _core.TorchTensor.__new__(cls, tensor.detach())
    made.requires_grad, made.grad = tensor.requires_grad, tensor.grad
    vars(made).update(vars(tensor))
    return made


def _rebuild_of_class(cls: Any, rebuild: Any, parts: tuple[Any, ...], state: Any = None) -> Any:
    """The tensor of a subclass from a pickle."""
    tensor = rebuild(*parts)
    vars(tensor).update(state or {})
    return _of_class(cls, tensor)


def _disabled_torch_function_impl(func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
    """What a class writes as ``__torch_function__`` whose functions give plain tensors."""
    return func(*args, **(kwargs or {}))


def _warn_of_overrides(cls: Any, /, **kwargs: Any) -> None:
    """Warns of a subclass of the tensors whose way to override functions is not called."""
    super(TorchTensor, cls).__init_subclass__(**kwargs)
    for name in ("__torch_function__", "__torch_dispatch__"):
        if vars(cls).get(name, _disabled_torch_function_impl) is not _disabled_torch_function_impl:
            warnings.warn(f"{cls.__name__}.{name} is not called: functions give plain tensors", stacklevel=2)


setattr(TorchTensor, "__init_subclass__", classmethod(_warn_of_overrides))  # noqa: B010
_SPECIAL = ("__contains__", "__copy__", "__deepcopy__", "__reduce_ex__", "__reversed__")
for _name, _value in [*vars(Methods).items(), *((name, getattr(_random, name)) for name in _random.__all__)]:
    if not _name.startswith("__") or _name in _SPECIAL:
        setattr(TorchTensor, _name, _value)
# torch has kept the name of Python 2.
TorchTensor.__rdiv__ = TorchTensor.__rtruediv__  # type: ignore[method-assign]
