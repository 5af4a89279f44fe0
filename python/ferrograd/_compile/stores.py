"""What a function changes in Python: variables that it sets to tensors it computes, and lists and dicts that it gets.

A program gives such tensors back, and each call sets the variables.
"""

from __future__ import annotations

import contextlib
import types
from collections.abc import Collection, Iterator, Mapping, MutableMapping, Sequence
from typing import Any

from ferrograd._compile.dependencies import Place, Slots, value_at
from ferrograd._compile.reader import Reader
from ferrograd._core import Tensor
from ferrograd._kit.tree import children, leaves, rebuilt


class Store:
    """A variable of a closure or a module, an attribute, or an item of a list or a dict, that a function has set."""

    def __init__(self, where: Any, name: Any, before: Any, numbers: Mapping[int, int]) -> None:
        self._where, self._name = where, name
        #: What the function has set it to.
        self.now = self.value
        self._fg_before = before
        #: By leaf of the value before: the number of the tensor that it is.
        self._fg_numbers = [numbers.get(id(x)) for x in leaves(before)]

    @property
    def value(self) -> Any:
        """What it is now."""
        return self._where[self._name] if isinstance(self._where, list) else value_at((self._where, self._name))

    @value.setter
    def value(self, value: Any) -> None:
        if isinstance(self._where, types.CellType):
            self._where.cell_contents = value
        elif isinstance(self._where, Slots):
            self._where.set(self._name, value)
        else:
            self._where[self._name] = value

    def is_in(self, table: Any) -> bool:
        """Whether it is an item of this list or dict."""
        return self._where is table

    def put_back(self, tensors: Sequence[Tensor]) -> None:
        """Makes it what it was before a call that found these tensors."""
        values = zip(leaves(self._fg_before), self._fg_numbers, strict=True)
        self.value = rebuilt(self._fg_before, (x if i is None else tensors[i] for x, i in values))


def found_stores(reader: Reader, made: Collection[int]) -> list[Store]:
    """What the function has set since the reader read it, to tensors with ids in ``made`` and to others that it reads.

    Nothing if all are others.
    """
    numbers = {id(x): i for i, x in enumerate(reader.tensors)}

    def can_be_set(place: Place) -> bool:
        return isinstance(place[0], (dict, types.CellType, Slots))

    def tensors_of(value: Any) -> list[Tensor]:
        return [x for x in leaves(value) if isinstance(x, Tensor)]

    def is_known(value: Any) -> bool:
        tensors = tensors_of(value)
        return bool(tensors) and all((id(x) in made or id(x) in numbers) and not x.requires_grad for x in tensors)

    changed = [
        (place, value) for place, value, *_ in reader.found if can_be_set(place) and value_at(place) is not value
    ]
    for holder, name, value in reader.items:
        is_there = name < len(holder) if isinstance(holder, list) else name in holder
        if is_there and holder[name] is not value:
            changed.append(((holder, name), value))
    stores = [Store(*place, value, numbers) for place, value in changed]
    stores = [store for store in stores if is_known(store.now)]
    return stores if any(id(x) in made for store in stores for x in tensors_of(store.now)) else []


@contextlib.contextmanager
def as_before(stores: Sequence[Store], tensors: Sequence[Tensor]) -> Iterator[None]:
    """Makes all variables what they were before a call that found these tensors, and afterwards what they are now."""
    values = [store.value for store in stores]
    for store in stores:
        store.put_back(tensors)
    try:
        yield
    finally:
        for store, value in zip(stores, values, strict=True):
            store.value = value


class Container:
    """A list, a dict or an object among arguments, and what a function gets in its place, which may be a copy."""

    def __init__(self, given: Any, used: Any) -> None:
        self.given, self.used = given, used
        self._fg_before = _contents(used)

    def has_changed(self) -> bool:
        """Whether the function has put something else into it."""
        now, before = _contents(self.used), self._fg_before
        if len(now) != len(before) or any(x is not y for (_, x), (_, y) in zip(now, before, strict=True)):
            return True
        # The places in a list are numbers, each of which may be another object.
        return not isinstance(self.used, list) and any(a is not b for (a, _), (b, _) in zip(now, before, strict=True))


def _contents(x: Any) -> list[tuple[Any, Any]]:
    """The names and values in a list, a dict or an object."""
    if isinstance(x, list):
        return list(enumerate(x))
    return list((x if isinstance(x, Mapping) else getattr(x, "__dict__", {})).items())


def containers(given: Any, used: Any) -> list[Container]:
    """The lists, dicts and objects in a structure of arguments. The function gets ``used``, perhaps a copy of it."""
    parts = children(given)
    if parts is None or given is None:
        return []
    found = [] if isinstance(given, tuple) else [Container(given, used)]
    for (_, a), (_, b) in zip(parts, children(used) or [], strict=True):
        found += containers(a, b)
    return found


def give_back(found: Mapping[Any, list[Container]], given: Mapping[int, Any]) -> Any:
    """Puts what a function has put into copies into what they are copies of. Returns the name of an argument that has
    changed, or None.

    ``found`` has the containers by the names of arguments. ``given`` are the values in whose place the function got
    others, by the ids of these.
    """
    originals = {**given, **{id(x.used): x.given for held in found.values() for x in held}}
    changed = [(name, x) for name, held in found.items() for x in held if x.has_changed()]
    for _, x in changed:
        if x.given is x.used:
            continue
        contents = {name: originals.get(id(value), value) for name, value in _contents(x.used)}
        if isinstance(x.given, list):
            x.given[:] = contents.values()
        else:
            held = x.given if isinstance(x.given, MutableMapping) else vars(x.given)
            held.clear()
            held.update(contents)
    return changed[0][0] if changed else None
