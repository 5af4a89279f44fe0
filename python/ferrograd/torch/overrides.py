"""``torch.overrides``: objects that answer for functions of torch by ``__torch_function__``.

Objects that are no tensors are asked, and tensors of a subclass; modes see all calls.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any

from ferrograd import _core
from ferrograd._kit import public as _public
from ferrograd._kit.dialect import TORCH
from ferrograd.torch._base import overriding
from ferrograd.torch._tensor import Tensor

__all__ = [
    "BaseTorchFunctionMode",
    "TorchFunctionMode",
    "get_default_nowrap_functions",
    "handle_torch_function",
    "has_torch_function",
    "is_tensor_like",
    "is_tensor_method_or_property",
    "resolve_name",
    "wrap_torch_function",
]


def _answers(x: object) -> bool:
    if isinstance(x, Tensor):
        return overriding.answers(x)
    if not hasattr(type(x), "__torch_function__"):
        return False
    # PyTorch's own tensors would call the function again.
    return _core.foreign_tensor(x, "", TORCH) is None


def has_torch_function(relevant_args: Iterable[Any]) -> bool:
    """Whether an argument answers by ``__torch_function__``.

    >>> import ferrograd.torch as torch
    >>> torch.overrides.has_torch_function((torch.ones(1), 2.0))
    False
    """
    return any(_answers(x) for x in relevant_args)


def has_torch_function_unary(x: Any) -> bool:
    """:func:`has_torch_function` of one argument."""
    return _answers(x)


def has_torch_function_variadic(*args: Any) -> bool:
    """:func:`has_torch_function` of the arguments."""
    return has_torch_function(args)


def handle_torch_function(
    public_api: Callable[..., Any], relevant_args: Iterable[Any], *args: Any, **kwargs: Any
) -> Any:
    """The result of the first relevant argument that answers for the function.

    Raises:
        TypeError: none does.

    >>> import ferrograd.torch as torch
    >>> class Zero:
    ...     @classmethod
    ...     def __torch_function__(cls, func, types, args=(), kwargs=None):
    ...         return 0.0
    >>> torch.overrides.handle_torch_function(torch.sin, (Zero(),), Zero())
    0.0
    """
    classes = list(dict.fromkeys(type(x) for x in relevant_args if _answers(x)))
    for cls in classes:
        result = cls.__torch_function__(public_api, tuple(classes), args, kwargs)
        if result is not NotImplemented:
            return result
    name = getattr(public_api, "__name__", repr(public_api))
    raise TypeError(f"no implementation found for {name} on types that implement __torch_function__: {classes}")


def is_tensor_like(inp: Any) -> bool:
    """Whether an object is a tensor, or answers for functions of torch.

    >>> import ferrograd.torch as torch
    >>> torch.overrides.is_tensor_like(torch.ones(1)), torch.overrides.is_tensor_like(1.0)
    (True, False)
    """
    return isinstance(inp, Tensor) or _answers(inp)


class TorchFunctionMode:
    """The base of contexts that see each call of a function: ``__torch_function__(func, types, args, kwargs)`` answers.

    >>> import ferrograd.torch as torch
    >>> class Log(torch.overrides.TorchFunctionMode):
    ...     def __torch_function__(self, func, types, args=(), kwargs=None):
    ...         print(func.__name__)
    ...         return func(*args, **(kwargs or {}))
    >>> with Log():
    ...     y = torch.sin(torch.zeros(1))
    zeros
    sin
    """

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Raises: a mode defines what it does."""
        raise NotImplementedError

    def __enter__(self) -> Any:
        """Begins: this mode is asked before those that are on."""
        overriding.enter(self)
        return self

    def __exit__(self, *_: object) -> None:
        """Ends."""
        overriding.leave(self)


class BaseTorchFunctionMode(TorchFunctionMode):
    """A mode that changes nothing."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """The result of the function."""
        return func(*args, **(kwargs or {}))


def is_tensor_method_or_property(func: Any) -> bool:
    """Whether a function is a method of the tensors.

    >>> import ferrograd.torch as torch
    >>> is_tensor_method_or_property(torch.Tensor.add), is_tensor_method_or_property(torch.nn.functional.relu)
    (True, False)
    """
    name = getattr(func, "__name__", "")
    return name == "__get__" or getattr(_core.TorchTensor, name, None) is func


def resolve_name(f: Any) -> str | None:
    """The name of a function as programs write it.

    >>> import ferrograd.torch as torch
    >>> resolve_name(torch.Tensor.add)
    'torch.Tensor.add'
    """
    name = getattr(f, "__name__", None)
    if name is None or isinstance(f, str):
        return None
    return f"torch.Tensor.{name}" if is_tensor_method_or_property(f) else f"torch.{name}"


def wrap_torch_function(dispatcher: Any) -> Any:
    """A decorator for a function of one's own: the arguments that ``dispatcher`` returns answer for it."""

    def wrap(func: Any) -> Any:
        @functools.wraps(func)
        def asking(*args: Any, **kwargs: Any) -> Any:
            relevant = dispatcher(*args, **kwargs)
            if has_torch_function(relevant):
                return handle_torch_function(asking, relevant, *args, **kwargs)
            return func(*args, **kwargs)

        return asking

    return wrap


def get_default_nowrap_functions() -> set[Any]:
    """The functions whose results stay plain tensors."""
    return set()


__dir__ = _public.names(globals())
