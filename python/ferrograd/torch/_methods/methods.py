"""Methods of torch's tensors that are not functions of the namespace."""

from __future__ import annotations

import math
from dataclasses import replace
from numbers import Number
from typing import Any, cast

import numpy as np

from ferrograd import _core
from ferrograd._core import ArgumentError, ShapeError, TorchTensor, torch as ops
from ferrograd._kit import arguments as _arguments
from ferrograd._kit.adapters import add_methods
from ferrograd._kit.dialect import TORCH
from ferrograd._kit.parts import part_of
from ferrograd._kit.warning import warn
from ferrograd._tensor import dtypes, pickling
from ferrograd.torch._base import overriding
from ferrograd.torch._base.formats import in_format
from ferrograd.torch._base.sharing import refuse_sharing
from ferrograd.torch._base.storage import Storage
from ferrograd.torch._base.typed_tensors import CLASSES, dtype_of, made
from ferrograd.torch._functions import create, random
from ferrograd.torch._functions.index import where
from ferrograd.torch._functions.predicates import is_signed
from ferrograd.torch._functions.shapes import view_as_real
from ferrograd.torch._methods import draws
from ferrograd.torch._tensor import Tensor, _of_class, _rebuild_of_class

_numpy: Any = TorchTensor.numpy
_core_of: Any = TorchTensor
_copy, _deepcopy, _reduce = _core_of.__copy__, _core_of.__deepcopy__, _core_of.__reduce_ex__
_contains: Any = TorchTensor.__contains__
_is_contiguous: Any = TorchTensor.is_contiguous


def _part(name: str, place: int) -> property:
    """The real or the imaginary parts, which can be written to."""
    plain: Any = getattr(TorchTensor, name)

    def joined(part: Any, x: Any) -> Any:
        return ops.complex(ops.real(x), part) if place else ops.complex(part, ops.imag(x))

    def part(self: Any) -> Any:
        if self.dtype.kind != "c":
            return plain.__get__(self)
        if (self.requires_grad and _core.is_grad_enabled()) or _core.is_tracing():
            return part_of(self, plain.__get__(self), part, joined)
        return view_as_real(self)[..., place]

    return property(part, plain.__set__, doc=plain.__doc__)


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
        with overriding.nobody():
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
        """The values, their order in memory and the attributes, and the class if it is a subclass."""
        made = _reduce(self, protocol)
        if not _is_contiguous(self):
            made = pickling.in_order(made, self.stride())
        if type(self) is _core.TorchTensor:
            return made
        return _rebuild_of_class, (type(self), *made)

    def numpy(self: Any, *, force: bool = False) -> np.ndarray[Any, Any]:
        """The numbers as an array in the memory of the tensor. With ``force`` a tracked tensor is detached."""
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
        return self.new_full(create._shape(sizes, size), 0, **options)

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
        return create.empty_strided(size, stride, dtype=self.dtype if dtype is None else dtype, **options)

    def resize(self: Any, *sizes: Any) -> Any:
        """The tensor in another shape of as many elements.

        Raises:
            ShapeError: the shape has another number of elements.
        """
        shape = _arguments.integers(create._shape(sizes, None), "resize", "sizes")
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
            ArgumentError: the tensor requires a gradient, and this is not inference mode.
        """
        shape = _arguments.integers(create._shape(sizes, size), "resize_", "sizes")
        if not self.stop_gradient and not _core.is_inference_mode_enabled():
            raise ArgumentError("cannot resize variables that require grad")
        n, flat = math.prod(shape), ops.reshape(self, [-1])
        kept = flat[:n] if n <= self.numel() else ops.concat([flat, ops.zeros([n - self.numel()], self.dtype)])
        self.data = in_format(ops.reshape(kept, shape), memory_format)
        return self

    def resize_as_(self: Any, other: Any, *, memory_format: Any = None) -> Any:
        """Gives the tensor the shape of another one: see :meth:`resize_`."""
        return self.resize_(_arguments.tensor(other, "resize_as_", "other").shape, memory_format=memory_format)

    def new_ones(self: Any, *sizes: Any, size: Any = None, **options: Any) -> Any:
        """Ones of a shape, by default with the dtype of this tensor; ``options`` are those of :meth:`new_full`."""
        return self.new_full(create._shape(sizes, size), 1, **options)

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
        return _core.require_grad(result, requires_grad)

    def storage(self: Any) -> Any:
        """The memory that the tensor and its views share, counted in elements."""
        whole, size = self._memory(), self.element_size()
        return Storage(self.data_ptr() - self.storage_offset() * size, int(whole.numel() * whole.element_size()), size)

    def untyped_storage(self: Any) -> Any:
        """The memory that the tensor and its views share, counted in bytes."""
        return replace(self.storage(), itemsize=1)

    def __contains__(self: Any, element: Any) -> bool:
        """Whether an element equals a number, or an element of a tensor that broadcasts to this one."""
        if not isinstance(element, Tensor | Number | np.generic):
            raise ArgumentError(f"a tensor contains numbers and tensors, and not a {type(element).__name__}")
        return bool(_contains(self, element))

    def where(self: Any, condition: Tensor, other: Any) -> Tensor:
        """The elements of this tensor where the condition is true, elsewhere those of ``other``."""
        return where(condition, self, other)

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

    real = _part("real", 0)
    imag = _part("imag", 1)

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
        """The tensor itself. Pinned memory would only make copies to another device faster."""
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
        return random.multinomial(self, num_samples, replacement, generator=generator)

    is_cpu = property(lambda self: True, doc="True: the CPU is the only device.")
    is_cuda = property(lambda self: False, doc="False: the CPU is the only device.")
    is_mps = property(lambda self: False, doc="False: the CPU is the only device.")
    is_xpu = property(lambda self: False, doc="False: the CPU is the only device.")
    is_meta = property(lambda self: False, doc="False: it has elements.")
    is_quantized = property(lambda self: False, doc="False: elements are numbers.")
    is_mkldnn = property(lambda self: False, doc="False: all tensors are strided.")
    is_nested = property(lambda self: False, doc="False: all tensors have one shape.")

    is_sparse = property(lambda self: False, doc="False: all tensors are dense.")
    is_sparse_csr = property(lambda self: False, doc="False: all tensors are dense.")

    def share_memory_(self: Any) -> Any:
        """Raises: threads share a tensor as it is, and another process gets a copy."""
        refuse_sharing("Tensor.share_memory_")

    def is_shared(self: Any) -> bool:
        """False: no memory is shared with other processes."""
        return False

    def apply_(self: Any, callable: Any) -> Any:
        """Overwrites each element with the function of it, one call for each."""
        flat = [callable(v) for v in ops.reshape(self.detach(), [-1]).tolist()]
        return self.copy_(ops.reshape(_core.make(flat, self.dtype, False, TORCH), list(self.shape)))

    def map_(self: Any, tensor: Any, callable: Any) -> Any:
        """Overwrites each element with a function of it and of the element of another tensor."""
        others = ops.broadcast_to(tensor.detach(), list(self.shape))
        pairs = zip(*(ops.reshape(x, [-1]).tolist() for x in (self.detach(), others)), strict=True)
        flat = [callable(a, b) for a, b in pairs]
        return self.copy_(ops.reshape(_core.make(flat, self.dtype, False, TORCH), list(self.shape)))


def _new_subclass(cls: Any, /, **kwargs: Any) -> None:
    """Lets a subclass of the tensors answer for functions. Warns of ``__torch_dispatch__``, which is not called."""
    super(TorchTensor, cls).__init_subclass__(**kwargs)
    overriding.subclass(cls)
    dispatch = vars(cls).get("__torch_dispatch__", overriding.disabled_impl)
    if dispatch is not overriding.disabled_impl:
        warn(f"{cls.__name__}.__torch_dispatch__ is not called: functions compute as for any tensor")


setattr(TorchTensor, "__init_subclass__", classmethod(_new_subclass))  # noqa: B010
_SPECIAL = ("__contains__", "__copy__", "__deepcopy__", "__reduce_ex__", "__reversed__")
add_methods(TorchTensor, Methods, _SPECIAL)
for _name in draws.__all__:
    setattr(TorchTensor, _name, getattr(draws, _name))
# torch has kept the name of Python 2.
TorchTensor.__rdiv__ = TorchTensor.__rtruediv__  # type: ignore[method-assign]
