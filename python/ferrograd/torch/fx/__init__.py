"""``torch.fx``: marks for tracers. There is no symbolic tracer; ``torch.compile`` traces a function as it runs."""

from __future__ import annotations

from typing import Any, NoReturn, TypeVar

from ferrograd import _public
from ferrograd._core import FerrogradError

__all__ = ["symbolic_trace", "wrap"]

T = TypeVar("T")


def wrap(fn_or_name: T) -> T:
    """The function or name itself.

    >>> import ferrograd.torch as torch
    >>> torch.fx.wrap(len)([1])
    1
    """
    return fn_or_name


def symbolic_trace(root: Any, concrete_args: Any = None) -> NoReturn:
    """Raises: there is no symbolic tracer."""
    raise FerrogradError("torch.fx.symbolic_trace: use torch.compile, or ferrograd.graph for a picture of the graph")


__dir__ = _public.names(globals())
