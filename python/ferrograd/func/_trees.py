"""Functions of nested structures."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ferrograd import _tree


def tree_map(f: Callable[..., Any], tree: Any, *others: Any) -> Any:
    """The structure with ``f`` applied to each leaf, and to the leaves of ``others`` at the same place.

    Lists, tuples, dicts, named tuples and dataclasses are structures, None is one without leaves, and all else is a
    leaf: a tensor, an array, a number.

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
