"""Nested structures of values: lists, tuples, named tuples, dicts and dataclasses, to any depth.

Any other value is a leaf; None is a structure without leaves. Fields of a dataclass that hold neither a structure nor a
tensor, an array or a float (names, sizes, functions) are static: they belong to the structure and are not leaves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from ferrograd._core import ArgumentError, GradientEdge, Tensor

#: How an instance of a class of the user's is taken apart, and put together again.
Parts = Callable[[Any], tuple[Iterable[Any], Any]]
Whole = Callable[[Any, list[Any]], Any]
NODES: dict[type, tuple[Parts, Whole]] = {}

#: The classes of most leaves. They are asked for first, since to ask for a mapping takes longer than all the rest.
LEAVES = (Tensor, int, float, str)


def children(tree: Any) -> list[tuple[Any, Any]] | None:
    """The keys and parts of a structure; None for a leaf."""
    if isinstance(tree, LEAVES):
        return None
    if tree is None:
        return []
    if isinstance(tree, (list, tuple)):
        return list(enumerate(tree))
    if type(tree) in NODES:
        return list(enumerate(NODES[type(tree)][0](tree)[0]))
    if isinstance(tree, Mapping):
        return list(tree.items())
    if _is_dataclass(tree):
        return [(name, getattr(tree, name)) for name in _fields(tree)]
    return None


def rest(tree: Any) -> Any:
    """What a structure has besides its parts: the static fields of a dataclass, or what a user's class says."""
    if type(tree) in NODES:
        return NODES[type(tree)][0](tree)[1]
    if not _is_dataclass(tree):
        return None
    return [getattr(tree, name) for name in tree.__dataclass_fields__ if _is_static(getattr(tree, name))]


def _is_static(value: Any) -> bool:
    """Whether the value of a dataclass field is static: part of the structure, not a leaf."""
    return not isinstance(value, (Tensor, GradientEdge, np.ndarray, np.floating, float)) and children(value) is None


def _is_dataclass(tree: Any) -> bool:
    """``dataclasses.is_dataclass`` without importing that module, which few programs need."""
    return hasattr(type(tree), "__dataclass_fields__")


def _fields(tree: Any) -> list[str]:
    """The names of the fields that are not static."""
    import dataclasses

    return [f.name for f in dataclasses.fields(tree) if not _is_static(getattr(tree, f.name))]


def _shallow_copy(tree: Any) -> Any:
    import copy

    return copy.copy(tree)


def _with(tree: Any, parts: list[Any]) -> Any:
    """The structure with its parts replaced."""
    if tree is None:
        return None
    if type(tree) in NODES:
        apart, together = NODES[type(tree)]
        return together(apart(tree)[1], parts)
    if isinstance(tree, tuple) and hasattr(tree, "_fields"):
        return type(tree)(*parts)
    if isinstance(tree, (list, tuple)):
        return type(tree)(parts)
    if isinstance(tree, Mapping):
        named = dict(zip(tree, parts, strict=True))
        if type(tree) is dict:
            return named
        copied = _shallow_copy(tree)
        copied.update(named)
        return copied
    copied = _shallow_copy(tree)
    for name, part in zip(_fields(tree), parts, strict=True):
        object.__setattr__(copied, name, part)
    return copied


def leaves(tree: Any) -> list[Any]:
    """The leaves of a structure, in order.

    >>> leaves({"a": [1, 2], "b": (3, None)})
    [1, 2, 3]
    """
    parts = children(tree)
    if parts is None:
        return [tree]
    found = []
    for _, part in parts:
        if isinstance(part, LEAVES):
            found.append(part)
        else:
            found += leaves(part)
    return found


def places(tree: Any, name: str) -> list[str]:
    """The place of each leaf of a structure with this name, in order.

    >>> places({"a": [1, 2], "b": 3}, "x")
    ["x['a'][0]", "x['a'][1]", "x['b']"]
    """
    parts = children(tree)
    return [name] if parts is None else [at for k, part in parts for at in places(part, f"{name}[{k!r}]")]


def rebuilt(tree: Any, values: Iterator[Any]) -> Any:
    """The structure with its leaves replaced by the next of ``values``.

    >>> rebuilt({"a": [1, 2], "b": 3}, iter("xyz"))
    {'a': ['x', 'y'], 'b': 'z'}
    """
    parts = children(tree)
    if parts is None:
        return next(values)
    return _with(tree, [next(values) if isinstance(part, LEAVES) else rebuilt(part, values) for _, part in parts])


def mapped(f: Callable[[Any], Any], tree: Any) -> Any:
    """The structure with ``f`` applied to each leaf."""
    return rebuilt(tree, map(f, leaves(tree)))


def matched(tree: Any, like: Any, what: str, at: str = "") -> list[Any]:
    """The leaves of ``tree`` in the order of ``like``; raises unless both have the same structure.

    >>> matched({"b": 3, "a": (1, 2)}, {"a": ("x", "y"), "b": "z"}, "tangents")
    [1, 2, 3]
    """
    wanted = children(like)
    if wanted is None:
        if children(tree) is not None:
            raise ArgumentError(f"{what}{at}: one value is expected, not {_named(tree)}")
        return [tree]
    given = children(tree)
    keys = [k for k, _ in wanted]
    if given is None or isinstance(tree, Mapping) != isinstance(like, Mapping) or {k for k, _ in given} != set(keys):
        raise ArgumentError(f"{what}{at}: {_named(tree)} does not have the structure of {_named(like)}")
    found = dict(given)
    return [leaf for k, part in wanted for leaf in matched(found[k], part, what, f"{at}[{k!r}]")]


def spread(axes: Any, tree: Any, what: str, at: str = "") -> list[Any]:
    """One entry of ``axes`` for each leaf of ``tree``. An entry that is not a container covers all leaves below it.

    >>> spread((0, None), ([1, 2], 3), "in_axes")
    [0, 0, None]
    """
    wanted = None if axes is None else children(axes)
    if wanted is None:
        return [axes] * len(leaves(tree))
    parts, given = children(tree), dict(wanted)
    if _is_dataclass(axes) and type(axes) is type(tree):
        given = {k: getattr(axes, k) for k, _ in parts or []}
    if parts is None or isinstance(axes, Mapping) != isinstance(tree, Mapping) or list(given) != [k for k, _ in parts]:
        raise ArgumentError(f"{what}{at}: {axes!r} does not have the structure of {_named(tree)}")
    return [leaf for k, part in parts for leaf in spread(given[k], part, what, f"{at}[{k!r}]")]


def shown(tree: Any) -> str:
    """The text of a structure with a star for each leaf.

    >>> shown({"a": [1, 2], "b": (3,)})
    "{'a': [*, *], 'b': (*,)}"
    """
    star = type("Star", (), {"__repr__": lambda _: "*"})()
    return repr(mapped(lambda _: star, tree))


def _named(tree: Any) -> str:
    parts = children(tree)
    if parts is None or tree is None:
        return type(tree).__name__
    keys = f" with {[k for k, _ in parts]}" if isinstance(tree, Mapping) else f" of {len(parts)}"
    return f"a {type(tree).__name__}{keys}"
