"""Boxes: values of which each operation is recorded as a node of a class of the user's."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from itertools import count
from typing import Any, ClassVar

import numpy as np

from ferrograd._kit.warning import warn
from ferrograd.autograd._kit import subvals


class Node:
    """One operation in a trace. A class derived from it defines what is remembered.

    ``__init__`` gets the value, the function and its arguments, the positions of those that are traced, and the nodes
    that these have. ``initialize_root`` makes the node of the argument of the traced function.
    """

    __slots__ = ()

    def __init__(
        self,
        value: Any,
        fun: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        parent_argnums: tuple[int, ...],
        parents: tuple[Any, ...],
    ) -> None:
        raise NotImplementedError("Node: a derived class defines __init__")

    def initialize_root(self, *args: Any, **kwargs: Any) -> None:
        """Makes the node of the argument."""
        raise NotImplementedError("Node: a derived class defines initialize_root")

    @classmethod
    def new_root(cls, *args: Any, **kwargs: Any) -> Any:
        """The node of the argument of a function that will be traced."""
        root = cls.__new__(cls)
        root.initialize_root(*args, **kwargs)
        return root


class Box:
    """A value in a trace. To differentiate functions by objects of a user's class, a class derives from this one and
    from the user's, and is registered for the latter.
    """

    type_mappings: ClassVar[dict[type, type[Box]]] = {}
    types: ClassVar[set[type]] = set()
    _slopes: list[Any]

    def __init__(self, value: Any, trace: int, node: Any) -> None:
        self._value, self._trace, self._node, self._slopes = value, trace, node, []

    @classmethod
    def register(cls, value_type: type) -> None:
        """Makes this the class of the boxes of values of a type."""
        Box.types.add(cls)
        Box.type_mappings[value_type] = cls

    def __bool__(self) -> bool:
        return bool(self._value)

    def __str__(self) -> str:
        return f"Autograd {type(self).__name__} with value {self._value!s}"

    def _add(self, slope: Any) -> None:
        """Adds to the gradient of the object."""
        self._slopes.append(slope)


class TracedValue(np.lib.mixins.NDArrayOperatorsMixin, Box):
    """A number, an array or a sequence in a trace."""

    __array_priority__ = 100.0
    __hash__ = object.__hash__

    @property
    def shape(self) -> tuple[int, ...]:
        return np.shape(self._value)

    @property
    def ndim(self) -> int:
        return np.ndim(self._value)

    @property
    def size(self) -> int:
        return np.size(self._value)

    @property
    def dtype(self) -> np.dtype[Any]:
        return np.result_type(self._value)

    @property
    def T(self) -> Any:
        return np.transpose(self)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        return recorded(ufunc if method == "__call__" else getattr(ufunc, method), inputs, options)

    def __array_function__(self, f: Any, types: Any, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
        return recorded(f, args, options)

    def __getitem__(self, at: Any) -> Any:
        return recorded(operator.getitem, (self, at), {})

    def __len__(self) -> int:
        return len(self._value)

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(len(self)))

    def __getattr__(self, name: str) -> Any:
        """The methods of arrays are functions of NumPy's."""
        if name.startswith("_") or not hasattr(np.ndarray, name):
            raise AttributeError(f"a traced value has no attribute {name!r}")
        return lambda *args, **options: getattr(np, name)(self, *args, **options)


_depths = count()


def has_box(args: Any) -> bool:
    """Whether an argument is in a box."""
    return any(isinstance(arg, Box) for arg in args)


def is_traced(args: Any) -> bool:
    """Whether an argument is in the box of a trace. Boxes of objects that are differentiated do not count."""
    return any(isinstance(arg, Box) and isinstance(arg._node, Node) for arg in args)


def new_box(value: Any, trace: int, node: Any) -> Any:
    """The value in a box."""
    return Box.type_mappings.get(type(value), TracedValue)(value, trace, node)


def recorded(fun: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The result of a function, in the innermost trace that one of its arguments is in."""
    boxes = [(i, arg) for i, arg in enumerate(args) if isinstance(arg, Box)]
    if not boxes:
        name = getattr(fun, "__name__", fun)
        raise NotImplementedError(f"{name}: a traced value must be a positional argument, outside of lists")
    top = max(box._trace for _, box in boxes)
    boxes = [(i, box) for i, box in boxes if box._trace == top]
    values = subvals(args, [(i, box._value) for i, box in boxes])
    result = fun(*values, **kwargs)
    argnums, parents = zip(*[(i, box._node) for i, box in boxes], strict=True)
    return new_box(result, top, type(parents[0])(result, fun, values, kwargs, argnums, parents))


def trace(start_node: Any, fun: Callable[[Any], Any], x: Any) -> tuple[Any, Any]:
    """The value of ``fun(x)`` and its node. Each operation on what follows from ``x`` makes a node of the class of
    ``start_node``.

    A derivative that is taken inside is one operation.

    >>> from ferrograd.autograd.tracer import Node, trace
    >>> class Name(Node):
    ...     def __init__(self, value, fun, args, kwargs, parent_argnums, parents):
    ...         self.name = fun.__name__
    ...     def initialize_root(self):
    ...         self.name = "x"
    >>> value, node = trace(Name.new_root(), np.exp, 0.0)
    >>> float(value), node.name
    (1.0, 'exp')
    """
    depth = next(_depths)
    end = fun(new_box(x, depth, start_node))
    if isinstance(end, Box) and end._trace == depth:
        return end._value, end._node
    warn("Output seems independent of input.")
    return end, None
