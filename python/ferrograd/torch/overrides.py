"""``torch.overrides``: objects that answer for functions of torch by ``__torch_function__``.

An object that is no tensor is asked; for tensors of a subclass functions compute as for any other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from ferrograd import _public
from ferrograd._core import FerrogradError
from ferrograd.torch._tensor import Tensor

__all__ = [
    "TorchFunctionMode",
    "handle_torch_function",
    "has_torch_function",
    "is_tensor_like",
]


def _answers(x: object) -> bool:
    return not isinstance(x, Tensor) and hasattr(type(x), "__torch_function__")


def has_torch_function(relevant_args: Iterable[Any]) -> bool:
    """Whether an argument is no tensor and has ``__torch_function__``.

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
    """The base of contexts that in torch see each call of a function. Such a context cannot be entered here."""

    def __enter__(self) -> Any:
        """Raises: functions of tensors do not ask a context."""
        raise FerrogradError(
            f"{type(self).__name__}: functions of tensors ask no mode; ferrograd.graph shows what is recorded, and "
            "hooks of modules see their calls"
        )

    def __exit__(self, *_: object) -> None:
        """Does nothing."""


__dir__ = _public.names(globals())
