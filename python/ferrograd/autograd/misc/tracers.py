"""Functions as graphs of operations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from ferrograd._kit import public as _public
from ferrograd.autograd._kit import subvals, toposort
from ferrograd.autograd.tracer import Node, trace
from ferrograd.autograd.wrap_util import wraps


class ConstGraphNode(Node):
    """An operation that can be repeated with other values of what is traced."""

    def __init__(self, value: Any, fun: Any, args: Any, kwargs: Any, parent_argnums: Any, parents: Any) -> None:
        self.parents = parents

        def again(values: Sequence[Any]) -> Any:
            return fun(*subvals(args, zip(parent_argnums, values, strict=True)), **kwargs)

        self.partial_fun = again

    def initialize_root(self) -> None:
        """Makes the node of the argument, which follows from nothing."""
        self.parents = ()


def const_graph_unary(fun: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """The function of one argument, whose operations are those of its first call."""
    graph: list[Any] = []

    def repeated(x: Any) -> Any:
        if not graph:
            value, end = trace(ConstGraphNode.new_root(), fun, x)
            if end is None:
                raise ValueError("Output is independent of input")
            graph.extend(reversed(list(toposort(end))))
            return value
        values = {graph[0]: x}
        for node in graph[1:]:
            values[node] = node.partial_fun([values[parent] for parent in node.parents])
        return values[graph[-1]]

    return repeated


def const_graph(fun: Callable[..., Any], *args: Any, **kwargs: Any) -> Callable[..., Any]:
    """The function with its first arguments given, whose operations are those of its first call: later calls run no
    other code of it. ``ferrograd.compile`` is faster, and sees where operations differ.

    >>> from ferrograd.autograd.misc import const_graph
    >>> power = const_graph(lambda x: x * x * x)
    >>> float(power(2.0)), float(power(3.0))
    (8.0, 27.0)
    """
    given = partial(fun, *args, **kwargs)
    unary = const_graph_unary(lambda values: given(*values))
    named: Callable[..., Any] = wraps(fun)(lambda *args: unary(args))
    return named


class FullGraphNode(Node):
    """An operation with its value, its function, its arguments and their nodes."""

    def __init__(self, value: Any, fun: Any, args: Any, kwargs: Any, parent_argnums: Any, parents: Any) -> None:
        self.value = value
        self.recipe = (fun, args, kwargs, list(zip(parent_argnums, parents, strict=True)))

    def initialize_root(self) -> None:
        """Makes the node of the arguments."""
        self.value = None
        self.recipe = (lambda x: x, (), {}, [])


def full_graph(fun: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """The node of the result of a call, from which all others can be reached."""
    return trace(FullGraphNode.new_root(), lambda values: fun(*values, **kwargs), args)[1]


__all__ = [
    "ConstGraphNode",
    "FullGraphNode",
    "const_graph",
    "const_graph_unary",
    "full_graph",
]

__dir__ = _public.names(globals())
