"""``torch.utils._pytree``: nested lists, tuples, dicts and registered classes. Anything else is a leaf, also None."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from ferrograd import _tree

__all__ = [
    "PyTree",
    "TreeSpec",
    "register_pytree_node",
    "tree_all",
    "tree_any",
    "tree_flatten",
    "tree_leaves",
    "tree_map",
    "tree_map_",
    "tree_map_only",
    "tree_structure",
    "tree_unflatten",
]

PyTree = Any


def register_pytree_node(
    cls: type,
    flatten_fn: Callable[[Any], tuple[Iterable[Any], Any]],
    unflatten_fn: Callable[[Any, Any], Any],
    *,
    serialized_type_name: str | None = None,
    **others: Any,
) -> None:
    """Makes instances of a class structures, here and in :mod:`ferrograd.torch.func`.

    ``flatten_fn`` takes an instance apart: its parts and anything else. ``unflatten_fn`` makes one of the two. The
    names for files of a trace change nothing.

    Raises:
        ValueError: the class is registered already.

    >>> class Line:
    ...     def __init__(self, slope, name):
    ...         self.slope, self.name = slope, name
    >>> register_pytree_node(Line, lambda x: ([x.slope], x.name), lambda parts, name: Line(*parts, name))
    >>> tree_map(lambda x: 2 * x, Line(3, "a")).slope
    6
    """
    if cls in _tree.NODES:
        raise ValueError(f"{cls} is already registered as pytree node.")
    _tree.NODES[cls] = flatten_fn, lambda context, parts: unflatten_fn(parts, context)


#: The name before PyTorch 2.2.
_register_pytree_node = register_pytree_node


class _Registered(NamedTuple):
    """What a structure of a registered class has besides its parts."""

    cls: type
    context: Any


class TreeSpec(NamedTuple):
    """A structure: a container with the structures of its parts, or None for a leaf."""

    container: Any
    parts: tuple[TreeSpec, ...]

    @property
    def num_leaves(self) -> int:
        """The number of leaves."""
        return 1 if self.container is None else sum(part.num_leaves for part in self.parts)


_LEAF = TreeSpec(None, ())


def _flatten(tree: Any, is_leaf: Callable[[Any], bool] | None, leaves: list[Any]) -> TreeSpec:
    if is_leaf is not None and is_leaf(tree):
        leaves.append(tree)
        return _LEAF
    if type(tree) in _tree.NODES:
        inside, context = _tree.NODES[type(tree)][0](tree)
        return TreeSpec(_Registered(type(tree), context), tuple(_flatten(part, is_leaf, leaves) for part in inside))
    if not isinstance(tree, list | tuple | dict):
        leaves.append(tree)
        return _LEAF
    parts = tree.values() if isinstance(tree, dict) else tree
    found = tuple(_flatten(part, is_leaf, leaves) for part in parts)
    empty = _tree._with(tree, [None] * len(found))
    return TreeSpec(empty, found)


def tree_flatten(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> tuple[list[Any], TreeSpec]:
    """The leaves of a structure and the structure.

    >>> leaves, spec = tree_flatten({"a": [1, None], "b": 2})
    >>> leaves, tree_unflatten([4, 5, 6], spec)
    ([1, None, 2], {'a': [4, 5], 'b': 6})
    """
    leaves: list[Any] = []
    spec = _flatten(tree, is_leaf, leaves)
    return leaves, spec


def _rebuilt(spec: TreeSpec, leaves: Iterator[Any]) -> Any:
    if spec.container is None:
        return next(leaves)
    parts = [_rebuilt(part, leaves) for part in spec.parts]
    if isinstance(spec.container, _Registered):
        return _tree.NODES[spec.container.cls][1](spec.container.context, parts)
    return _tree._with(spec.container, parts)


def tree_unflatten(leaves: Iterable[Any], treespec: TreeSpec) -> Any:
    """The structure with these leaves."""
    values = list(leaves)
    if len(values) != treespec.num_leaves:
        raise ValueError(f"tree_unflatten: {treespec.num_leaves} leaves are wanted, not {len(values)}")
    return _rebuilt(treespec, iter(values))


def tree_leaves(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> list[Any]:
    """The leaves of a structure."""
    return tree_flatten(tree, is_leaf)[0]


def tree_structure(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> TreeSpec:
    """The structure without its leaves."""
    return tree_flatten(tree, is_leaf)[1]


def tree_all(pred: Callable[[Any], bool], tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> bool:
    """Whether the function holds for all leaves."""
    return all(map(pred, tree_leaves(tree, is_leaf)))


def tree_any(pred: Callable[[Any], bool], tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> bool:
    """Whether the function holds for a leaf."""
    return any(map(pred, tree_leaves(tree, is_leaf)))


def tree_map(func: Callable[..., Any], tree: Any, *rests: Any, is_leaf: Callable[[Any], bool] | None = None) -> Any:
    """The structure with the function of each leaf, and of those of other structures at its place."""
    leaves, spec = tree_flatten(tree, is_leaf)
    others = [tree_flatten(rest, is_leaf) for rest in rests]
    if any(other != spec for _, other in others):
        raise ValueError("tree_map: the structures differ")
    return tree_unflatten(map(func, leaves, *(found for found, _ in others)), spec)


def tree_map_(func: Callable[..., Any], tree: Any, *rests: Any, is_leaf: Callable[[Any], bool] | None = None) -> Any:
    """Calls the function with each leaf; returns the structure."""
    tree_map(func, tree, *rests, is_leaf=is_leaf)
    return tree


def tree_map_only(kinds: Any, func: Callable[[Any], Any], tree: Any) -> Any:
    """The structure with the function of each leaf of some classes."""
    return tree_map(lambda leaf: func(leaf) if isinstance(leaf, kinds) else leaf, tree)
