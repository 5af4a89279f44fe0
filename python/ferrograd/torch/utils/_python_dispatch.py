"""``torch.utils._python_dispatch``: names that libraries import; ops do not ask Python."""

from __future__ import annotations

from typing import Any

from ferrograd._core import FerrogradError
from ferrograd._kit import public as _public
from ferrograd.torch.overrides import TorchFunctionMode

__all__ = ["TorchDispatchMode", "is_traceable_wrapper_subclass"]


class TorchDispatchMode(TorchFunctionMode):
    """The base of contexts that in torch see each op. Such a context cannot be entered here."""

    def __enter__(self) -> Any:
        """Raises."""
        raise FerrogradError(f"{type(self).__name__}: ops ask no mode; use a TorchFunctionMode")


def is_traceable_wrapper_subclass(t: Any) -> bool:
    """Whether an object is a tensor that wraps others: none is.

    >>> import ferrograd.torch as torch
    >>> from ferrograd.torch.utils._python_dispatch import is_traceable_wrapper_subclass
    >>> is_traceable_wrapper_subclass(torch.ones(1))
    False
    """
    return False


__dir__ = _public.names(globals())
