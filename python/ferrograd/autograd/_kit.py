"""Helpers on sequences and graphs."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator
from typing import Any


def subvals(x: Iterable[Any], ivs: Iterable[tuple[int, Any]]) -> tuple[Any, ...]:
    """The sequence as a tuple, with the value of each pair (index, value) at its index."""
    found = list(x)
    for i, v in ivs:
        if not -len(found) <= i < len(found):
            raise ValueError(f"there is no argument {i} among {len(found)}")
        found[i] = v
    return tuple(found)


def subval(x: Iterable[Any], i: int, v: Any) -> tuple[Any, ...]:
    """The sequence as a tuple with ``v`` at index ``i``."""
    return subvals(x, [(i, v)])


def func(f: Any) -> Any:
    """The function itself: a method taken from its class is a plain function."""
    return f


def toposort(end_node: Any, parents: Callable[[Any], Iterable[Any]] = operator.attrgetter("parents")) -> Iterator[Any]:
    """The nodes that ``end_node`` follows from, each after all that follow from it."""
    counts = {end_node: 1}
    waiting = [end_node]
    while waiting:
        for parent in parents(waiting.pop()):
            counts[parent] = counts.get(parent, 0) + 1
            if counts[parent] == 1:
                waiting.append(parent)
    ready = [end_node]
    while ready:
        node = ready.pop()
        yield node
        for parent in parents(node):
            counts[parent] -= 1
            if not counts[parent]:
                ready.append(parent)
