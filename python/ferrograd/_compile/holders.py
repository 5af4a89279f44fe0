"""Tensors that live on in a graph: loops and branches hold what their functions read, for later derivatives."""

from __future__ import annotations

import sys
import types
import weakref
from collections.abc import Iterable
from typing import Any

from ferrograd._compile.dependencies import Names, Same
from ferrograd._core import Tensor

#: The classes whose instances hold nothing else than their attributes, besides those that hold on to functions.
_PLAIN = (Names, Same)


class Holder:
    """A loop or a branch, which a node of a graph holds and nobody else."""


#: Those that exist.
_HOLDERS: weakref.WeakSet[Holder] = weakref.WeakSet()


def note(holder: Holder) -> None:
    """Remembers a loop or a branch for as long as it exists."""
    _HOLDERS.add(holder)


def _held(x: Any) -> Iterable[Any]:
    """What an object holds, as far as tensors may be among it. Each is there as often as it is referred to."""
    if isinstance(x, types.CellType):
        try:
            return [x.cell_contents]
        except ValueError:  # The cell is empty.
            return []
    if isinstance(x, types.FunctionType):
        return [x.__closure__, x.__defaults__, x.__kwdefaults__]
    if isinstance(x, (list, tuple)):
        return x
    if type(x) is dict:
        # The variables of a module are no part of a loop.
        return [] if "__builtins__" in x else x.values()
    if isinstance(x, Same):
        return [x.value]
    return vars(x).values() if isinstance(x, (Holder, *_PLAIN)) else []


def _found(holders: list[Holder]) -> tuple[list[Any], list[int], list[list[int]]]:
    """The objects that lead from holders to tensors, how often the others refer to each, and to which it refers."""
    objects: list[Any] = [*holders]
    places = {id(x): i for i, x in enumerate(objects)}
    known = [0 for _ in objects]
    parts: list[list[int]] = []
    kinds = (Tensor, Holder, types.CellType, types.FunctionType, list, tuple, dict, *_PLAIN)
    for x in objects:
        parts.append([])
        for y in _held(x):
            if not isinstance(y, kinds):
                continue
            if (k := places.get(id(y))) is None:
                k = places[id(y)] = len(objects)
                objects.append(y)
                known.append(0)
            known[k] += 1
            parts[-1].append(k)
    return objects, known, parts


def held_by_loops(tensors: list[Tensor]) -> list[Tensor]:
    """The tensors that only loops and branches hold. They go with the graph.

    An object to which there are more references than from these, and from what these hold, is held by somebody else,
    and so is all that it holds.
    """
    holders = list(_HOLDERS)
    if not holders:
        return []
    objects, known, parts = _found(holders)
    # The list of objects refers to each, and the list of tensors to some.
    probe = [object()]
    own, given = sys.getrefcount(probe[0]), set(map(id, tensors))
    left = [
        i
        for i in range(len(holders), len(objects))
        if sys.getrefcount(objects[i]) - (id(objects[i]) in given) > own + known[i]
    ]
    is_elsewhere = [False for _ in objects]
    while left:
        i = left.pop()
        if not is_elsewhere[i]:
            is_elsewhere[i] = True
            left += parts[i]
    held = {id(x) for x, elsewhere in zip(objects, is_elsewhere, strict=True) if not elsewhere}
    return [x for x in tensors if id(x) in held]
