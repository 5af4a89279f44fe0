"""``torch.fx``: marks for tracers. There is no symbolic tracer; ``torch.compile`` traces a function as it runs."""

from __future__ import annotations

from typing import Any, NoReturn, TypeVar

from ferrograd._core import FerrogradError
from ferrograd._kit import public as _public

__all__ = ["Graph", "GraphModule", "Interpreter", "Node", "Proxy", "Tracer", "symbolic_trace", "wrap"]

T = TypeVar("T")


def wrap(fn_or_name: T) -> T:
    """The function or name itself.

    >>> import ferrograd.torch as torch
    >>> torch.fx.wrap(len)([1])
    1
    """
    return fn_or_name


class _Absent:
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        _refuse(type(self).__name__)


class Graph(_Absent):
    """A graph of a symbolic tracer, which cannot be made here."""


class GraphModule(_Absent):
    """A module made by a symbolic tracer. No module here is one."""


class Interpreter(_Absent):
    """What runs a :class:`GraphModule` op by op; it cannot be made here."""


class Node(_Absent):
    """A node of a :class:`Graph`, which cannot be made here."""


class Proxy(_Absent):
    """A value that a symbolic tracer records, which cannot be made here. No value here is one."""


class Tracer(_Absent):
    """A symbolic tracer, which cannot be made here."""


def _refuse(name: str) -> NoReturn:
    raise FerrogradError(f"torch.fx.{name}: use torch.compile, or ferrograd.graph for a picture of the graph")


def symbolic_trace(root: Any, concrete_args: Any = None) -> NoReturn:
    """Raises: there is no symbolic tracer."""
    _refuse("symbolic_trace")


__dir__ = _public.names(globals())
