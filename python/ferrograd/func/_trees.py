"""Functions of nested structures."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import numpy as np

from ferrograd import _core
from ferrograd._core import ArgumentError, Tensor, native
from ferrograd._kit import tree as _tree
from ferrograd._kit.dialect import NATIVE

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


class TreeStructure:
    """What :func:`tree_flatten` leaves of a structure without its leaves."""

    def __init__(self, tree: Any, count: int) -> None:
        self._tree = _tree.rebuilt(tree, iter(range(count)))
        #: The number of leaves.
        self.num_leaves = count

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TreeStructure) or other.num_leaves != self.num_leaves:
            return False
        try:
            return bool(_tree.matched(other._tree, self._tree, "==") == list(range(self.num_leaves)))
        except ArgumentError:
            return False

    def __hash__(self) -> int:
        return hash(self.num_leaves)

    def __repr__(self) -> str:
        return f"TreeStructure({self._tree!r})"


def tree_flatten(tree: Any) -> tuple[list[Any], TreeStructure]:
    """The leaves of a structure, as :func:`tree_map` finds them, and the structure for :func:`tree_unflatten`.

    >>> from ferrograd.func import tree_flatten, tree_unflatten
    >>> leaves, structure = tree_flatten({"w": 1.0, "b": (2.0, None)})
    >>> leaves, tree_unflatten(structure, [10.0, 20.0])
    ([1.0, 2.0], {'w': 10.0, 'b': (20.0, None)})
    """
    leaves = _tree.leaves(tree)
    return leaves, TreeStructure(tree, len(leaves))


def tree_unflatten(structure: TreeStructure, leaves: Iterable[Any]) -> Any:
    """The structure with these leaves.

    Raises:
        ArgumentError: another number of leaves.

    >>> from ferrograd.func import tree_flatten, tree_unflatten
    >>> tree_unflatten(tree_flatten([1, (2, 3)])[1], "abc")
    ['a', ('b', 'c')]
    """
    if not isinstance(structure, TreeStructure):
        raise TypeError(f"tree_unflatten: a structure is what tree_flatten gives, not {type(structure).__name__}")
    listed = list(leaves)
    if len(listed) != structure.num_leaves:
        raise ArgumentError(f"tree_unflatten: {structure.num_leaves} leaves are wanted, not {len(listed)}")
    return _tree.rebuilt(structure._tree, iter(listed))


def ravel_pytree(tree: Any) -> tuple[Any, Callable[[Any], Any]]:
    """All numbers of a structure as one vector, and the function that makes the structure of such a vector again.

    The vector has the dtype that holds those of all leaves, and each leaf gets its own dtype back. Both ways can be
    differentiated, compiled and mapped, so that an optimizer of vectors, such as that of SciPy, can fit a structure.

    Raises:
        ArgumentError: the function is given a vector of another length.

    >>> from ferrograd.func import ravel_pytree
    >>> vector, unravel = ravel_pytree({"w": fg.tensor([[1.0, 2.0]]), "b": fg.tensor(3.0)})
    >>> vector.tolist(), unravel(2 * vector)["w"].tolist()
    ([1.0, 2.0, 3.0], [[2.0, 4.0]])
    """
    leaves, structure = tree_flatten(tree)
    tensors = [x if isinstance(x, Tensor) else _core.make(x, None, False, NATIVE) for x in leaves]
    shapes, dtypes = [tuple(x.shape) for x in tensors], [x.dtype for x in tensors]
    sizes = [math.prod(shape) for shape in shapes]
    flat = [native.reshape(x, [-1]) for x in tensors]
    vector: Any = native.concat(flat) if flat else native.zeros([0])

    def unravel(vector: Any) -> Any:
        if vector.ndim != 1 or vector.shape[0] != sum(sizes):
            raise ArgumentError(f"unravel: a vector of {sum(sizes)} numbers is wanted, not {list(vector.shape)}")
        ends = list(itertools.accumulate(sizes))
        parts = [
            native.reshape(vector[end - size : end], list(shape)).astype(dtype)
            for end, size, shape, dtype in zip(ends, sizes, shapes, dtypes, strict=True)
        ]
        return tree_unflatten(structure, parts)

    return vector, unravel


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
