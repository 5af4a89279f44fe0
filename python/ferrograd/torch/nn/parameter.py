"""``torch.nn.parameter``."""

from __future__ import annotations

from typing import Any

from ferrograd._core import Tensor as _CoreTensor, TorchTensor, torch as ops
from ferrograd._kit import public as _public
from ferrograd._tensor.device import contexts
from ferrograd.torch._base.meta import MetaTensor
from ferrograd.torch._base.overriding import disabled_impl as _disabled_impl

__all__ = ["Buffer", "Parameter", "UninitializedBuffer", "UninitializedParameter", "is_lazy"]


class Parameter(TorchTensor):
    """A trainable tensor: a leaf that requires a gradient and shares the memory of ``data``.

    >>> import ferrograd.torch as torch
    >>> w = torch.nn.Parameter(torch.ones(2))
    >>> (w * w).sum().backward()
    >>> w.grad.tolist(), isinstance(w, torch.Tensor), isinstance(w * 2, torch.nn.Parameter)
    ([2.0, 2.0], True, False)
    """

    __torch_function__ = _disabled_impl

    def __new__(cls, data: Any = None, requires_grad: bool = True) -> Parameter:
        """A parameter that shares the memory of ``data``; an empty one without it."""
        if isinstance(data, MetaTensor) or (contexts.meta and data is not None and not is_lazy(data)):
            return MetaTensor.__new__(MetaParameter, data.shape, data.dtype, requires_grad)
        made: Any = super().__new__(cls, *([] if data is None else [data.detach()]))
        made.requires_grad = requires_grad
        return made

    def __repr__(self) -> str:
        """The text of the tensor after a header."""
        return f"Parameter containing:\n{super().__repr__()}"

    def __copy__(self) -> Parameter:
        """A parameter with copied values and the same attributes."""
        return _made(type(self), self.detach().clone(), self.requires_grad, vars(self))

    def __deepcopy__(self, memo: dict[int, Any]) -> Parameter:
        """A parameter with copied values."""
        if id(self) not in memo:
            memo[id(self)] = type(self)(self.detach().clone(), self.requires_grad)
        copied: Parameter = memo[id(self)]
        return copied

    def __reduce_ex__(self, protocol: Any) -> Any:
        """The class, the values, ``requires_grad`` and the attributes."""
        return _made, (type(self), self.detach(), self.requires_grad, vars(self))


def _made(cls: Any, data: Any, requires_grad: bool, attributes: dict[str, Any]) -> Any:
    """A parameter of a class that may have a constructor of its own."""
    made: Any = TorchTensor.__new__(cls, data)
    made.requires_grad = requires_grad
    vars(made).update(attributes)
    return made


class MetaParameter(MetaTensor, Parameter):  # type: ignore[misc]
    """A parameter of the device ``meta``: it has a shape and no numbers."""

    def __new__(cls, data: Any = None, requires_grad: bool = True) -> Any:
        """A parameter with the numbers of ``data``, or without numbers as ``data`` is."""
        return Parameter(data, requires_grad)

    @property
    def _fg_becomes(self) -> type:
        return Parameter

    def __repr__(self) -> str:
        return f"Parameter containing:\n{MetaTensor.__repr__(self)}"

    def __copy__(self) -> Any:
        return Parameter(self.detach(), self.requires_grad)

    def __reduce_ex__(self, protocol: Any) -> Any:
        return Parameter, (self.detach(), self.requires_grad)


class Buffer(TorchTensor):
    """A tensor that a module keeps as a buffer when it is assigned to it; in its ``state_dict`` if ``persistent``.

    >>> import ferrograd.torch as torch
    >>> module = torch.nn.Module()
    >>> module.mean = torch.nn.Buffer(torch.zeros(2))
    >>> list(module.state_dict())
    ['mean']
    """

    __torch_function__ = _disabled_impl

    persistent: bool

    def __new__(cls, data: Any = None, *, persistent: bool = True) -> Buffer:
        """A buffer that shares the memory of ``data``; an empty one without it."""
        if isinstance(data, MetaTensor):
            made: Any = MetaTensor.__new__(MetaBuffer, data.shape, data.dtype, data.requires_grad)
            made.persistent = persistent
            return made
        made = super().__new__(cls, *([] if data is None else [data.detach()]))
        made.requires_grad = data is not None and data.requires_grad
        made.persistent = persistent
        return made

    def __reduce_ex__(self, protocol: Any) -> Any:
        """The class, the values and the attributes."""
        return type(self), (self.detach(),), self.__dict__


class MetaBuffer(MetaTensor, Buffer):  # type: ignore[misc]
    """A buffer of the device ``meta``: it has a shape and no numbers."""

    def __new__(cls, data: Any = None, *, persistent: bool = True) -> Any:
        """A buffer with the numbers of ``data``, or without numbers as ``data`` is."""
        return Buffer(data, persistent=persistent)

    @property
    def _fg_becomes(self) -> type:
        return Buffer

    def __copy__(self) -> Any:
        return Buffer(self.detach(), persistent=self.persistent)

    def __reduce_ex__(self, protocol: Any) -> Any:
        return _buffer, (self.detach(), self.persistent)


def _buffer(data: Any, persistent: bool) -> Buffer:
    """The buffer of a file."""
    return Buffer(data, persistent=persistent)


class _Uninitialized(TorchTensor):
    """A tensor that has a dtype, but no shape yet."""

    _fg_becomes: type

    def materialize(self, shape: Any, device: object = None, dtype: Any = None) -> None:
        """Gives the tensor a shape and zeros; it becomes an ordinary parameter or buffer."""
        made = ops.zeros([shape] if isinstance(shape, int) else list(shape), self.dtype if dtype is None else dtype)
        self.__class__ = self._fg_becomes
        tracked, self.requires_grad = self.requires_grad, False
        self.data = made
        self.requires_grad = tracked

    @property
    def shape(self) -> Any:
        """Raises: there is no shape."""
        raise RuntimeError(
            "Can't access the shape of an uninitialized parameter or buffer. This error usually happens in "
            "`load_state_dict` when trying to load an uninitialized parameter into an initialized one. Call `forward` "
            "to initialize the parameters before accessing their attributes."
        )

    def __repr__(self) -> str:
        return f"<{type(self).__name__}>"

    def _check_use(self, name: str) -> None:
        """Raises for a function that reads the elements. The core calls it where a function gets this tensor."""
        if name not in _WITHOUT_SHAPE and name != "cast":
            _refused(name)(self)


#: What a tensor without a shape has: methods that give it another dtype or do not read it, and those of any object.
_WITHOUT_SHAPE = frozenset(
    {
        *("bfloat16", "detach", "double", "float", "half", "int", "long", "requires_grad_", "to", "type"),
        *("__array_namespace__", "__copy__", "__deepcopy__", "__delattr__", "__format__", "__hash__"),
        *("__reduce_ex__", "__repr__", "__rich_repr__", "__setattr__"),
    }
)


def _refused(name: str) -> Any:
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        raise ValueError(
            f"Attempted to use an uninitialized parameter in {name}: it has no shape. Call `forward` of its module, "
            "or `materialize` with a shape, first"
        )

    return method


_SPECIAL = (name for name, method in vars(_CoreTensor).items() if name.startswith("__") and callable(method))
for _name in (*_SPECIAL, *ops.__all__, "dim", "item", "numel", "numpy", "tolist", "zero_"):
    if hasattr(TorchTensor, _name) and _name not in _WITHOUT_SHAPE and _name not in vars(_Uninitialized):
        setattr(_Uninitialized, _name, _refused(_name))


class UninitializedParameter(_Uninitialized, Parameter):
    """A parameter of a lazy layer before the first call.

    >>> import ferrograd.torch as torch
    >>> w = torch.nn.UninitializedParameter()
    >>> w.materialize((2, 3))
    >>> w.shape, type(w).__name__
    (torch.Size([2, 3]), 'Parameter')
    """

    _fg_becomes = Parameter

    def __new__(cls, requires_grad: bool = True, device: object = None, dtype: Any = None) -> UninitializedParameter:
        """A parameter without a shape."""
        made: Any = Parameter.__new__(cls, ops.zeros([0], dtype), requires_grad)
        return made

    def __deepcopy__(self, memo: dict[int, Any]) -> UninitializedParameter:
        """Another parameter without a shape."""
        if id(self) not in memo:
            memo[id(self)] = type(self)(self.requires_grad, None, self.dtype)
        return memo[id(self)]

    def __reduce_ex__(self, protocol: Any) -> Any:
        """The class, ``requires_grad`` and the dtype."""
        return type(self), (self.requires_grad, None, self.dtype)


class UninitializedBuffer(_Uninitialized):
    """A buffer of a lazy layer before the first call."""

    _fg_becomes = Buffer

    def __new__(
        cls, requires_grad: bool = False, device: object = None, dtype: Any = None, persistent: bool = True
    ) -> UninitializedBuffer:
        """A buffer without a shape."""
        made: Any = super().__new__(cls, ops.zeros([0], dtype))
        made.requires_grad = requires_grad
        made.persistent = persistent
        return made

    def __deepcopy__(self, memo: dict[int, Any]) -> UninitializedBuffer:
        """Another buffer without a shape."""
        if id(self) not in memo:
            memo[id(self)] = type(self)(self.requires_grad, None, self.dtype)
        return memo[id(self)]

    def __reduce_ex__(self, protocol: Any) -> Any:
        """The class, ``requires_grad`` and the dtype."""
        return type(self), (self.requires_grad, None, self.dtype)


def initialized(param: Any, function: str) -> Any:
    """The parameter; raises if it has no shape yet."""
    if is_lazy(param):
        raise ValueError(
            f"{function}: modules have uninitialized parameters. Run a forward pass first: it gives them their shapes"
        )
    return param


def is_lazy(param: object) -> bool:
    """Whether a parameter or buffer has no shape yet."""
    return isinstance(param, _Uninitialized)


__dir__ = _public.names(globals())
