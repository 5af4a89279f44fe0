"""Tensors of the device ``meta``: they have a shape and a dtype, and no numbers and no memory.

``with torch.device("meta")`` makes new tensors so, for models whose numbers come from a file afterwards. Functions of
them give tensors without numbers again, whose shapes are found by computing with zeros.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any, NoReturn

from ferrograd import _core
from ferrograd._core import Tensor as _CoreTensor, TorchTensor, torch as ops
from ferrograd._kit import tree as _tree
from ferrograd._tensor.device import TorchDevice, switch
from ferrograd.torch._base import overriding

_DEVICE = TorchDevice("meta")


class NoNumbers(_core.FerrogradError, NotImplementedError):
    """A tensor of the device ``meta`` has been asked for its numbers. It is a RuntimeError, as PyTorch's is."""


def is_meta(function: str, device: object) -> bool:
    """Whether a device is ``meta``; raises for one that is not here."""
    if device is None:
        return False
    if str(device) == "meta":
        return True
    _core.check_device(function, device)
    return False


def asks_for_meta(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether ``Tensor.to`` is asked for the device ``meta``, or for the device of a tensor on it."""
    given = (*args, *kwargs.values())
    return any(isinstance(x, MetaTensor) or (isinstance(x, str) and x == "meta") for x in given)


class MetaTensor(TorchTensor):
    """A tensor with a shape and a dtype alone."""

    # The core sees a tensor without elements, and asks `_check_use` wherever such a one is given to a function.
    _fg_shape: tuple[int, ...]
    #: Compiled functions run as they are for such a tensor.
    _fg_is_traced = False

    def __new__(cls, shape: Any, dtype: Any = None, requires_grad: bool = False) -> Any:
        """A tensor of a shape and a dtype."""
        _fill()
        overriding.answer(cls)
        made: Any = TorchTensor.__new__(cls, ops.zeros([0], dtype))
        made._fg_shape = tuple(int(n) for n in shape)
        made.requires_grad = requires_grad
        return made

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """What a function of torch gives for such a tensor."""
        return computed(func, args, kwargs or {})

    def _check_use(self, name: str) -> None:
        """Raises for a function that reads the elements. The core calls it where a function gets this tensor."""
        if name not in _ALLOWED:
            refuse(name)

    # What a tensor is without its numbers.

    @property
    def shape(self) -> Any:
        """The sizes of the axes."""
        return ops.broadcast_to(ops.zeros([], "bool"), self._fg_shape).shape

    def size(self, dim: int | None = None) -> Any:
        """The sizes of the axes, or one of them."""
        return self.shape if dim is None else self._fg_shape[dim]

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self._fg_shape)

    def dim(self) -> int:
        """The number of axes."""
        return len(self._fg_shape)

    ndimension = dim

    def numel(self) -> int:
        """The number of elements that it stands for."""
        return math.prod(self._fg_shape)

    nelement = numel

    @property
    def nbytes(self) -> int:
        """The bytes that the elements would take."""
        return self.numel() * self.element_size()

    def __len__(self) -> int:
        if not self._fg_shape:
            raise TypeError("len() of a 0-d tensor")
        return self._fg_shape[0]

    def stride(self, dim: int | None = None) -> Any:
        """The steps between the elements, in a row-major order."""
        steps = tuple(math.prod(max(n, 1) for n in self._fg_shape[i + 1 :]) for i in range(self.ndim))
        return steps if dim is None else steps[dim]

    def is_contiguous(self, memory_format: Any = None) -> bool:
        """True: the order is row-major."""
        return True

    def data_ptr(self) -> int:
        """0: there is no memory."""
        return 0

    @property
    def device(self) -> Any:
        """``meta``."""
        return _DEVICE

    is_meta = property(lambda self: True, doc="True: there are no numbers.")
    is_cpu = property(lambda self: False, doc="False: the device is meta.")

    def __repr__(self) -> str:
        tracked = ", requires_grad=True" if self.requires_grad else ""
        dtype = "" if self.dtype == "float32" else f", dtype={self.dtype}"
        return f"tensor(..., device='meta', size={self._fg_shape}{dtype}{tracked})"

    def __format__(self, spec: str) -> str:
        return format(repr(self), spec)

    def __iter__(self) -> Any:
        return iter(self.unbind(0))

    __hash__ = TorchTensor.__hash__

    # What makes other tensors without numbers of it.

    def detach(self) -> Any:
        """A tensor of the same shape that requires no gradient."""
        return MetaTensor(self._fg_shape, self.dtype)

    def clone(self, memory_format: Any = None) -> Any:
        """A tensor of the same shape."""
        return MetaTensor(self._fg_shape, self.dtype, self.requires_grad)

    def contiguous(self, memory_format: Any = None) -> Any:
        """The tensor itself."""
        return self

    def astype(self, dtype: Any) -> Any:
        """A tensor of the same shape and another dtype."""
        return MetaTensor(self._fg_shape, dtype, self.requires_grad)

    def to(self, *args: Any, **kwargs: Any) -> Any:
        """A tensor of another dtype.

        Raises:
            NoNumbers: another device is asked for.
        """
        plain = ops.zeros([0], self.dtype)
        if not asks_for_meta(args, kwargs) and any(
            isinstance(x, (str, TorchTensor)) for x in (*args, kwargs.get("device"))
        ):
            raise NoNumbers(
                "Cannot copy out of meta tensor; no data! Please use torch.nn.Module.to_empty() instead of "
                "torch.nn.Module.to() when moving module from meta to a different device"
            )
        rest = [x for x in args if not isinstance(x, (str, MetaTensor))]
        like = next((x for x in args if isinstance(x, MetaTensor)), None)
        options = {key: x for key, x in kwargs.items() if key != "device"}
        dtype = like.dtype if like is not None else plain.to(*rest, **options).dtype
        return self if dtype == self.dtype else self.astype(dtype)

    def cpu(self, memory_format: Any = None) -> Any:
        """Raises: there are no numbers to copy."""
        return self.to("cpu")

    @property
    def data(self) -> Any:
        """A tensor of the same shape. Assigning one with numbers gives this one the numbers."""
        return MetaTensor(self._fg_shape, self.dtype)

    @data.setter
    def data(self, value: Any) -> None:
        tracked, self.requires_grad = self.requires_grad, False
        if isinstance(value, MetaTensor):
            self._fg_shape = value._fg_shape
            value = ops.zeros([0], value.dtype)
        else:
            del self._fg_shape
            self.__class__ = self._fg_becomes
        TorchTensor.data.__set__(self, value)  # type: ignore[attr-defined]
        self.requires_grad = tracked

    @property
    def _fg_becomes(self) -> type:
        """The class of the tensor once it has numbers."""
        return TorchTensor

    def __copy__(self) -> Any:
        return type(self)(self._fg_shape, self.dtype, self.requires_grad)

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        if id(self) not in memo:
            memo[id(self)] = self.__copy__()
        return memo[id(self)]

    def __reduce_ex__(self, protocol: Any) -> Any:
        return MetaTensor, (self._fg_shape, self.dtype, self.requires_grad)


#: Functions of the core that do not read the elements.
_ALLOWED = frozenset({"__repr__", "__hash__", "requires_grad_", "element_size", "is_floating_point", "is_complex"})
#: Methods that are those of any tensor.
_KEPT = frozenset(
    (
        *("register_hook", "retain_grad", "type", "storage_offset", "is_signed", "get_device"),
        *("register_post_accumulate_grad_hook", "requires_grad_", "backward", "refine_names", "rename", "has_names"),
        *("__new__", "__init__", "__getattribute__", "__setattr__", "__delattr__", "__rich_repr__", "__dir__"),
        *("__array_namespace__", "__init_subclass__", "__subclasshook__", "__class__", "__reduce__", "__sizeof__"),
    )
)
#: Functions whose results, or their shapes, depend on the numbers.
_READING = frozenset(
    (
        *("__array__", "__array_ufunc__", "__array_function__", "__bool__", "__complex__", "__contains__", "__float__"),
        *("__index__", "__int__", "__dlpack__", "allclose", "argwhere", "bincount", "equal", "histc", "is_nonzero"),
        *("item", "masked_select", "nonzero", "numpy", "one_hot", "storage", "tolist", "unique", "unique_consecutive"),
        *("untyped_storage", "__round__", "__dlpack_device__"),
    )
)
#: Operators that write to the tensor.
_WRITING = frozenset(
    (
        *("__setitem__", "__iadd__", "__isub__", "__imul__", "__itruediv__", "__ifloordiv__", "__imod__", "__ipow__"),
        *("__iand__", "__ior__", "__ixor__", "__ilshift__", "__irshift__", "__imatmul__"),
    )
)


def refuse(name: str) -> NoReturn:
    """Raises: a function reads the numbers of a tensor that has none.

    Raises:
        NoNumbers: always.
    """
    raise NoNumbers(
        f"{name}: a tensor of the device 'meta' has a shape and no numbers. Module.to_empty(device='cpu') or "
        "load_state_dict(state, assign=True) give a module its numbers"
    )


def like(x: Any) -> Any:
    """A tensor of the device ``meta`` with the shape and dtype of another one."""
    return x if isinstance(x, MetaTensor) else MetaTensor(x.shape, x.dtype, x.requires_grad)


def shape_of(x: Any) -> Any:
    """The tensor, or zeros of its shape if it has no numbers: to find the shape of a function's result."""
    if not isinstance(x, MetaTensor):
        return x
    made = ops.broadcast_to(ops.zeros([], x.dtype), x._fg_shape)
    return made.requires_grad_() if x.requires_grad else made


def computed(function: Any, args: Any, kwargs: Any) -> Any:
    """The result of a function of tensors without numbers: tensors without numbers again. Their shapes are found with
    zeros.
    """
    name = getattr(function, "__name__", "")
    if name in _READING or (name == "where" and len(args) + len(kwargs) == 1):
        refuse(name)
    index = args[1] if name == "__getitem__" else None
    if any(isinstance(x, MetaTensor) and x.dtype == "bool" for x in _tree.leaves(index)):
        refuse("a mask as an index")
    if name in _WRITING or (name.endswith("_") and not name.endswith("__")):
        # Without numbers there is nothing to write.
        return None if name == "__setitem__" else args[0]
    given = [_tree.mapped(shape_of, list(args)), _tree.mapped(shape_of, kwargs)]
    with overriding.nobody():
        made = function(*given[0], **given[1])
    if kwargs.get("device") is not None and not is_meta(name, kwargs["device"]):
        # The like of a tensor without numbers may have some.
        return made
    return _tree.mapped(lambda x: like(x) if isinstance(x, TorchTensor) else x, made)


def _method(name: str) -> Callable[..., Any]:
    plain = getattr(TorchTensor, name)

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        return computed(plain, (self, *args), kwargs)

    return method


@functools.cache
def _fill() -> None:
    """Gives the class the methods of other tensors, once they are all there."""
    special = {name for name, method in vars(_CoreTensor).items() if name.startswith("__") and callable(method)}
    named = {name for name in dir(TorchTensor) if not name.startswith("_") and callable(getattr(TorchTensor, name))}
    for name in (special | named) - vars(MetaTensor).keys() - _ALLOWED - _KEPT:
        setattr(MetaTensor, name, _method(name))


#: Functions that make tensors of nothing, those first that need no numbers for it.
_SHAPES = frozenset({"empty", "full", "ones", "rand", "randn", "zeros"})
_MAKING = _SHAPES | {
    *("arange", "as_tensor", "asarray", "bartlett_window", "blackman_window", "empty_permuted", "empty_strided", "eye"),
    *("hamming_window", "hann_window", "kaiser_window", "linspace", "logspace", "randint", "randperm", "range"),
    *("scalar_tensor", "tensor", "tril_indices", "triu_indices", "fftfreq", "rfftfreq"),
}


class _Mode:
    """What functions ask in a context of the device: new tensors have no numbers."""

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """The result of the function."""
        kwargs = kwargs or {}
        name = getattr(function, "__name__", "")
        if name not in _MAKING or kwargs.get("device") is not None or kwargs.get("out") is not None:
            return function(*args, **kwargs)
        if name in _SHAPES:
            return function(*args, **{**kwargs, "device": "meta"})
        return like(function(*args, **kwargs))


_mode = _Mode()
switch.enter, switch.leave = lambda: overriding.enter(_mode), lambda: overriding.leave(_mode)
