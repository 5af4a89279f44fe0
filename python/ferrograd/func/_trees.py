"""Functions of nested structures."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from ferrograd import _tree
from ferrograd._core import ArgumentError, Tensor

T = TypeVar("T")

#: Classes that are structures or leaves without registration; their subclasses too.
_OWN = (Tensor, np.ndarray, list, tuple, dict, int, float, complex, str, type(None))


def tree_map(f: Callable[..., Any], tree: Any, *others: Any) -> Any:
    """The structure with ``f`` applied to each leaf, and to the leaves of ``others`` at the same place.

    Lists, tuples, dicts, named tuples, dataclasses and classes given to :func:`register_pytree_node` are structures,
    None is one without leaves, and all else is a leaf: a tensor, an array, a number.

    Raises:
        ArgumentError: one of ``others`` has another structure.

    >>> from ferrograd.func import tree_map
    >>> weights = {"w": fg.tensor([1.0, 2.0]), "b": fg.tensor(3.0)}
    >>> slopes = {"w": fg.tensor([0.5, 0.5]), "b": fg.tensor(1.0)}
    >>> moved = tree_map(lambda w, g: w - 0.1 * g, weights, slopes)
    >>> round(moved["b"].item(), 3)
    2.9
    """
    columns = [_tree.matched(other, tree, "tree_map") for other in others]
    return _tree.rebuilt(tree, map(f, _tree.leaves(tree), *columns))


def register_pytree_node(cls: type, flatten: _tree.Parts, unflatten: _tree.Whole) -> None:
    """Makes instances of a class structures for all transforms, for ``tree_map``, ``grad`` and ``compile``.

    ``flatten(instance)`` returns a pair: the parts, which are structures or leaves, and everything else as one value.
    ``unflatten(rest, parts)`` makes an instance of them. Subclasses are not included.

    Raises:
        ArgumentError: the class is registered already, or it is a structure or a leaf without that.

    >>> from ferrograd import func
    >>> class Line:
    ...     def __init__(self, slope, offset):
    ...         self.slope, self.offset = slope, offset
    >>> func.register_pytree_node(Line, lambda l: ((l.slope, l.offset), None), lambda _, parts: Line(*parts))
    >>> g = func.grad(lambda line: line.slope * 2.0 + line.offset)(Line(fg.tensor(3.0), fg.tensor(1.0)))
    >>> g.slope.item(), g.offset.item()
    (2.0, 1.0)
    """
    if not isinstance(cls, type):
        raise ArgumentError(f"register_pytree_node: a class is wanted, not {type(cls).__name__}")
    if not (callable(flatten) and callable(unflatten)):
        raise ArgumentError("register_pytree_node: flatten and unflatten are functions")
    if cls in _tree.NODES or issubclass(cls, _OWN):
        raise ArgumentError(f"register_pytree_node: {cls.__name__} is known already")
    _tree.NODES[cls] = (flatten, unflatten)


def stop_gradient(tree: T) -> T:
    """The same values as constants: no derivative, of any order and in either mode, goes through them.

    Structures keep their form; what is not a tensor stays as it is. ``x.detach()`` is the same for one tensor.

    >>> x = fg.tensor(3.0, requires_grad=True)
    >>> fg.grad(x * fg.stop_gradient(x), x).item()
    3.0
    """
    stopped: T = _tree.mapped(lambda x: x.detach() if isinstance(x, Tensor) else x, tree)
    return stopped
