"""``torch.utils._pytree``: nested lists, tuples, dicts and registered classes. Anything else is a leaf, also None."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from ferrograd import _tree

__all__ = [
    "SUPPORTED_NODES",
    "LeafSpec",
    "NodeDef",
    "PyTree",
    "TreeSpec",
    "register_pytree_node",
    "tree_all",
    "tree_any",
    "tree_flatten",
    "tree_is_leaf",
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


class NodeDef(NamedTuple):
    """How structures of a class are taken apart and put together."""

    type: Any
    flatten_fn: Callable[[Any], tuple[Iterable[Any], Any]]
    unflatten_fn: Callable[[Iterable[Any], Any], Any]


def _shell(tree: Any) -> tuple[list[Any], Any]:
    parts = list(tree.values() if isinstance(tree, dict) else tree)
    return parts, _tree._with(tree, [None] * len(parts))


class _Supported:
    """The classes of structures and their definitions, like a dict."""

    def __contains__(self, kind: Any) -> bool:
        return kind in _tree.NODES or (isinstance(kind, type) and issubclass(kind, (list, tuple, dict)))

    def __getitem__(self, kind: Any) -> NodeDef:
        if kind in _tree.NODES:
            apart, together = _tree.NODES[kind]
            return NodeDef(kind, apart, lambda parts, context: together(context, list(parts)))
        if kind not in self:
            raise KeyError(kind)
        return NodeDef(kind, _shell, lambda parts, shell: _tree._with(shell, list(parts)))


SUPPORTED_NODES = _Supported()


def _get_node_type(tree: Any) -> Any:
    """The class of a structure."""
    return type(tree)


class TreeSpec(NamedTuple):
    """A structure: a class, what an instance has besides its parts, and the structures of the parts."""

    type: Any
    context: Any
    children_specs: Sequence[TreeSpec]

    @property
    def num_leaves(self) -> int:
        """The number of leaves."""
        return 1 if self.type is None else sum(part.num_leaves for part in self.children_specs)


def LeafSpec() -> TreeSpec:
    """The structure of a leaf.

    >>> LeafSpec().num_leaves
    1
    """
    return TreeSpec(None, None, ())


def tree_is_leaf(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> bool:
    """Whether a value is a leaf.

    >>> tree_is_leaf(1), tree_is_leaf([1])
    (True, False)
    """
    return (is_leaf is not None and is_leaf(tree)) or type(tree) not in SUPPORTED_NODES


def _flatten(tree: Any, is_leaf: Callable[[Any], bool] | None, leaves: list[Any]) -> TreeSpec:
    if tree_is_leaf(tree, is_leaf):
        leaves.append(tree)
        return LeafSpec()
    parts, context = SUPPORTED_NODES[type(tree)].flatten_fn(tree)
    return TreeSpec(type(tree), context, tuple(_flatten(part, is_leaf, leaves) for part in parts))


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
    if spec.type is None:
        return next(leaves)
    parts = [_rebuilt(part, leaves) for part in spec.children_specs]
    return SUPPORTED_NODES[spec.type].unflatten_fn(parts, spec.context)


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
