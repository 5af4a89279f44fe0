"""``torch.utils._pytree``: nested lists, tuples, dicts and registered classes. Anything else is a leaf, also None."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from types import UnionType
from typing import Any, NamedTuple

from ferrograd._kit import public as _public, tree as _tree

__all__ = [
    "SUPPORTED_NODES",
    "GetAttrKey",
    "KeyPath",
    "LeafSpec",
    "MappingKey",
    "NodeDef",
    "PyTree",
    "SequenceKey",
    "TreeSpec",
    "arg_tree_leaves",
    "key_get",
    "keystr",
    "map_only",
    "register_pytree_node",
    "tree_all",
    "tree_all_only",
    "tree_any",
    "tree_any_only",
    "tree_flatten",
    "tree_flatten_with_path",
    "tree_is_leaf",
    "tree_iter",
    "tree_leaves",
    "tree_leaves_with_path",
    "tree_map",
    "tree_map_",
    "tree_map_only",
    "tree_map_only_",
    "tree_map_with_path",
    "tree_structure",
    "tree_unflatten",
    "treespec_pprint",
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

    def get(self, kind: Any, default: Any = None) -> Any:
        """The definition of a class, or the default."""
        try:
            return self[kind]
        except KeyError:
            return default


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
    """The structure with a function applied to each leaf, and to the leaves of other structures at its place."""
    leaves, spec = tree_flatten(tree, is_leaf)
    others = [tree_flatten(rest, is_leaf) for rest in rests]
    if any(other != spec for _, other in others):
        raise ValueError("tree_map: the structures differ")
    return tree_unflatten(map(func, leaves, *(found for found, _ in others)), spec)


def tree_map_(func: Callable[..., Any], tree: Any, *rests: Any, is_leaf: Callable[[Any], bool] | None = None) -> Any:
    """Calls the function with each leaf; returns the structure."""
    tree_map(func, tree, *rests, is_leaf=is_leaf)
    return tree


def _is_chosen(kinds: Any, leaf: Any) -> bool:
    """Whether a leaf is of one of the classes. A function in the place of classes decides by itself."""
    if isinstance(kinds, (type, tuple, UnionType)):
        return isinstance(leaf, kinds)
    return bool(kinds(leaf))


def map_only(kinds: Any, /) -> Callable[[Callable[[Any], Any]], Callable[[Any], Any]]:
    """A decorator: the function of leaves of some classes, and other leaves as they are."""
    return lambda func: lambda leaf: func(leaf) if _is_chosen(kinds, leaf) else leaf


def tree_map_only(
    kinds: Any, /, func: Callable[[Any], Any], tree: Any, is_leaf: Callable[[Any], bool] | None = None
) -> Any:
    """The structure with a function applied to each leaf of some classes, or to each that another function chooses."""
    return tree_map(map_only(kinds)(func), tree, is_leaf=is_leaf)


def tree_map_only_(
    kinds: Any, /, func: Callable[[Any], Any], tree: Any, is_leaf: Callable[[Any], bool] | None = None
) -> Any:
    """Calls the function with each leaf of some classes; returns the structure."""
    return tree_map_(map_only(kinds)(func), tree, is_leaf=is_leaf)


def tree_all_only(
    kinds: Any, /, pred: Callable[[Any], bool], tree: Any, is_leaf: Callable[[Any], bool] | None = None
) -> bool:
    """Whether the function holds for all leaves of some classes."""
    return all(pred(leaf) for leaf in tree_leaves(tree, is_leaf) if _is_chosen(kinds, leaf))


def tree_any_only(
    kinds: Any, /, pred: Callable[[Any], bool], tree: Any, is_leaf: Callable[[Any], bool] | None = None
) -> bool:
    """Whether the function holds for a leaf of some classes."""
    return any(pred(leaf) for leaf in tree_leaves(tree, is_leaf) if _is_chosen(kinds, leaf))


def tree_iter(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> Iterator[Any]:
    """The leaves of a structure, one after the other."""
    yield from tree_leaves(tree, is_leaf)


class SequenceKey(NamedTuple):
    """The place of a part in a list or tuple."""

    idx: int

    def __str__(self) -> str:
        return f"[{self.idx!r}]"

    def get(self, sequence: Any) -> Any:
        """The part of a list or tuple at this place."""
        return sequence[self.idx]


class MappingKey(NamedTuple):
    """The place of a part in a dict."""

    key: Any

    def __str__(self) -> str:
        return f"[{self.key!r}]"

    def get(self, mapping: Any) -> Any:
        """The part of a dict at this place."""
        return mapping[self.key]


class GetAttrKey(NamedTuple):
    """The place of a part that is an attribute."""

    name: str

    def __str__(self) -> str:
        return f".{self.name}"

    def get(self, obj: Any) -> Any:
        """The attribute of an object."""
        return getattr(obj, self.name)


KeyPath = tuple[Any, ...]


def keystr(kp: KeyPath) -> str:
    """A path as text.

    >>> keystr((MappingKey("a"), SequenceKey(0)))
    "['a'][0]"
    """
    return "".join(str(key) for key in kp)


def key_get(obj: Any, kp: KeyPath) -> Any:
    """The part of a structure at a path."""
    for key in kp:
        obj = key.get(obj)
    return obj


def _keys(tree: Any, count: int) -> list[Any]:
    """The places of the parts of a structure."""
    if isinstance(tree, dict):
        return [MappingKey(key) for key in tree]
    if hasattr(tree, "_fields"):
        return [GetAttrKey(name) for name in tree._fields]
    return [SequenceKey(i) for i in range(count)]


def _with_paths(tree: Any, path: KeyPath, is_leaf: Callable[[Any], bool] | None) -> Iterator[tuple[KeyPath, Any]]:
    if tree_is_leaf(tree, is_leaf):
        yield path, tree
        return
    parts = list(SUPPORTED_NODES[type(tree)].flatten_fn(tree)[0])
    for key, part in zip(_keys(tree, len(parts)), parts, strict=True):
        yield from _with_paths(part, (*path, key), is_leaf)


def tree_leaves_with_path(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> list[tuple[KeyPath, Any]]:
    """The leaves of a structure, each after its path.

    >>> tree_leaves_with_path({"a": [1, 2]})
    [((MappingKey(key='a'), SequenceKey(idx=0)), 1), ((MappingKey(key='a'), SequenceKey(idx=1)), 2)]
    """
    return list(_with_paths(tree, (), is_leaf))


def tree_flatten_with_path(
    tree: Any, is_leaf: Callable[[Any], bool] | None = None
) -> tuple[list[tuple[KeyPath, Any]], TreeSpec]:
    """The leaves of a structure, each after its path, and the structure."""
    return tree_leaves_with_path(tree, is_leaf), tree_structure(tree, is_leaf)


def tree_map_with_path(
    func: Callable[..., Any], tree: Any, *rests: Any, is_leaf: Callable[[Any], bool] | None = None
) -> Any:
    """:func:`tree_map` with a function of the path and the leaves.

    >>> tree_map_with_path(lambda path, x: keystr(path), [1, {"a": 2}])
    ['[0]', {'a': "[1]['a']"}]
    """
    leaves, spec = tree_flatten(tree, is_leaf)
    found = [path for path, _ in _with_paths(tree, (), is_leaf)]
    others = [tree_leaves(rest, is_leaf) for rest in rests]
    return tree_unflatten(map(func, found, leaves, *others), spec)


def arg_tree_leaves(*args: Any, **kwargs: Any) -> list[Any]:
    """The leaves of arguments, in their order."""
    return [leaf for tree in (*args, *kwargs.values()) for leaf in tree_leaves(tree)]


def treespec_pprint(treespec: TreeSpec) -> str:
    """A structure as text, with a star for each leaf."""
    return repr(tree_unflatten([_Star()] * treespec.num_leaves, treespec))


class _Star:
    def __repr__(self) -> str:
        return "*"


#: What libraries import by private names.
Context = Any
_is_leaf = tree_is_leaf


def _dict_flatten(d: dict[Any, Any]) -> tuple[list[Any], list[Any]]:
    """The values of a dict, and its keys."""
    return list(d.values()), list(d)


def _dict_unflatten(values: Iterable[Any], context: Any) -> dict[Any, Any]:
    """A dict of keys and values."""
    return dict(zip(context, values, strict=True))


def _dict_flatten_with_keys(d: dict[Any, Any]) -> tuple[list[tuple[Any, Any]], list[Any]]:
    """The values of a dict, each after its place, and its keys."""
    return [(MappingKey(key), value) for key, value in d.items()], list(d)


def _list_flatten(d: list[Any]) -> tuple[list[Any], None]:
    """The items of a list."""
    return list(d), None


def _list_unflatten(values: Iterable[Any], context: Any) -> list[Any]:
    """A list of items."""
    return list(values)


__dir__ = _public.names(globals())
