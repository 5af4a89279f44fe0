"""``torch.utils._python_dispatch``: modes that see the ops which a program calls."""

from __future__ import annotations

from typing import Any

from ferrograd._kit import public as _public
from ferrograd.torch._base import dispatched
from ferrograd.torch.overrides import TorchFunctionMode

__all__ = ["TorchDispatchMode", "is_traceable_wrapper_subclass"]


class TorchDispatchMode(TorchFunctionMode):
    """The base of contexts that see ops: ``__torch_dispatch__(func, types, args, kwargs)`` answers for each.

    An op is a call of a function of torch by the program or by a layer. Ops of a backward pass are not seen, and
    neither are views by subscripts and attributes.

    >>> import ferrograd.torch as torch
    >>> class Log(torch.utils._python_dispatch.TorchDispatchMode):
    ...     def __torch_dispatch__(self, func, types, args=(), kwargs=None):
    ...         print(func)
    ...         return func(*args, **(kwargs or {}))
    >>> with Log():
    ...     y = torch.nn.functional.linear(torch.ones(1, 2), torch.ones(3, 2)) + 1
    aten.ones.default
    aten.ones.default
    aten.mm.default
    aten.add.Tensor
    """

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Raises: a mode defines what it does."""
        raise NotImplementedError

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """The result of the op that the function is."""
        return dispatched.call(self, func, types, args, kwargs or {})


def _get_current_dispatch_mode() -> TorchDispatchMode | None:
    """The innermost mode that sees the ops of this thread."""
    found: TorchDispatchMode | None = dispatched.current()
    return found


def is_traceable_wrapper_subclass(t: Any) -> bool:
    """Whether an object is a tensor that wraps others: none is.

    >>> import ferrograd.torch as torch
    >>> from ferrograd.torch.utils._python_dispatch import is_traceable_wrapper_subclass
    >>> is_traceable_wrapper_subclass(torch.ones(1))
    False
    """
    return False


__dir__ = _public.names(globals())
