"""Reads what a call depends on: the tensors that it finds, and all else that tells it from other calls."""

from __future__ import annotations

import array
import collections
import contextvars
import functools
import itertools
import types
import weakref
from collections.abc import Collection, Iterator
from typing import Any

import numpy as np

from ferrograd import _core
from ferrograd._compile.dependencies import (
    CONTAINER_READERS,
    CONTAINERS,
    FUNCTIONS,
    MISSING,
    SCALARS,
    Names,
    Place,
    Refused,
    Same,
    has_methods,
    is_dataclass,
    is_object,
    is_python,
    owner_of,
    read_items,
    read_parts,
    value_at,
)
from ferrograd._compile.floats import Number
from ferrograd._compile.uses import Use
from ferrograd._core import Tensor
from ferrograd._kit.dialect import NATIVE
from ferrograd._kit.tree import rest

#: Classes whose objects have no attributes of the user's.
_SCALARS = (*SCALARS, Number)
#: The most bytes of a NumPy array that calls are compared by. Larger ones would take longer than many functions do.
_BYTES = 1 << 22
#: The most items that a call is compared by where code reads a container as a whole: comparing them takes 0.1 ms.
_ITEMS_AT_MOST = 3000
#: ``explain()`` lists containers that have at least so many items.
_LARGE = 100
#: How long it takes to compare an item.
_NANOSECONDS = 30
#: So many items are looked at to see whether a container is one of tensors.
_LOOKED_AT = 10
#: Code with one of these names may draw numbers that no state tells.
_UNTOLD = frozenset({"default_rng", "Generator", "RandomState", "SystemRandom", "urandom", "secrets", "PCG64"})
#: Modules whose objects give other numbers each time.
_DRAWING = frozenset({"random", "numpy.random._generator", "numpy.random.mtrand"})


class Numbers:
    """The numbers of a NumPy array, as they were when they were read."""

    __slots__ = ("data", "kind")

    def __init__(self, array: np.ndarray) -> None:
        self.kind = array.dtype, array.shape, array.strides
        self.data = array.tobytes()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Numbers) and self.kind == other.kind and self.data == other.data

    def __hash__(self) -> int:
        return hash(self.kind)


def why_untraced(value: Tensor) -> str | None:
    """Why no program has a tensor, if there is a reason: the core knows neither its elements nor its shape."""
    if getattr(value.__class__, "_fg_is_traced", True):
        return None
    return f"it computes with a {value.__class__.__name__}, which has no numbers"


class Reader:
    """Reads the values that a call depends on: their tensors, in order, and a key of everything else."""

    def __init__(self, modes: Any, names: Names, floats: Collection[Any] = (), whole_arguments: bool = False) -> None:
        self.tensors: list[Tensor] = []
        #: The places in `tensors` of those that the code finds elsewhere than in its arguments.
        self.elsewhere: set[int] = set()
        self.key: list[Any] = [modes]
        #: What the code finds elsewhere than in its arguments: a place, its value, whether its tensors are told by
        #: identity, and what is read of the value.
        self.found: list[tuple[Place, Any, bool, Use | None]] = []
        #: Lists and dicts that the code finds elsewhere, with a name and a value that are in them.
        self.items: list[tuple[Any, Any, Any]] = []
        #: Tables of tensors that are told by identity.
        self.by_identity: list[Any] = []
        #: Objects whose attributes were read, and which of them.
        self.objects: list[tuple[Any, Use | None]] = []
        #: The arguments that are floats with a tensor in their place, and the number of that tensor.
        self.floats: dict[Any, int] = {}
        #: By the ids of NumPy arrays: the numbers that are part of the key.
        self.numbers: dict[int, Numbers] = {}
        #: Whether there are numbers or strings among what the code finds elsewhere.
        self.has_values = False
        self._as_tensors = floats
        #: Whether arguments are read as a whole, whatever the code reads of them.
        self._reads_all = whole_arguments
        self._names = names
        #: Whether what is read comes from an argument.
        self._is_argument = True
        self._places: dict[int, int] = {}
        self._seen: set[tuple[int, int]] = set()
        #: How many items there are in containers that are read as a whole.
        self._items_read = 0
        #: The larger ones of them: where their part of the key begins, their class, and how many items they have.
        self._large: list[tuple[int, str, int]] = []
        #: Where the parts of the key begin that a name leads to.
        self._begins: list[tuple[int, tuple[Any, Any]]] = []

    def read_all(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
        """Reads the arguments, and what the code finds elsewhere. Returns the key."""
        if self._names.unknown is not None:
            raise Refused(self._names.unknown)
        self.key += len(args), tuple(kwargs)
        for name, value in (*enumerate(args), *kwargs.items()):
            self._begins.append((len(self.key), ("argument", name)))
            if type(value) is float and name in self._as_tensors:
                self.floats[name] = len(self.tensors)
                self.tensors.append(_core.make(value, "float64", False, NATIVE))
                self.key.append(Number)
            else:
                self._read(value, None if self._reads_all else self._names.use_of_argument(name))
        self._is_argument = False
        for place in self._names.places:
            self._begins.append((len(self.key), ("", place[1])))
            self._find(place, self._names.use_at(place))
        for value, use in self.objects:
            for place, by_identity, part in self._names.of(value, use):
                self._begins.append((len(self.key), (value, place[1])))
                self.key.append(place[1])
                try:
                    self._find(place, part, by_identity)
                except Refused as refusal:
                    raise Refused(f"{self._name(len(self.key))}: {refusal}") from None
        return tuple(self.key)

    def sees_all(self) -> bool:
        """Whether arrays of NumPy that the function makes follow from what was read.

        It is not known where code may draw from generators of its own, and what objects of other libraries hold.
        """
        told = (type, types.ModuleType, types.FunctionType, types.SimpleNamespace, np.ufunc, np.dtype)
        objects = (x for x, _ in self.objects if not isinstance(x, told))
        return all(is_python(type(x)) for x in objects) and self._names.names.isdisjoint(_UNTOLD)

    def _name(self, i: int) -> str:
        """The name that leads to a part of the key."""
        names = [name for begin, name in self._begins if begin <= i]
        if not names:
            return "the number of its arguments or a mode"
        of, name = names[-1]
        if isinstance(of, str):
            return f"{of} {name}".strip() if isinstance(name, str) or of else "a variable of a closure"
        return f"{getattr(of, '__name__', type(of).__name__)}.{name}"

    def _first_difference(self, key: tuple[Any, ...]) -> int | None:
        pairs = enumerate(zip(self.key, key, strict=False))
        return next((i for i, (mine, other) in pairs if mine != other), None)

    def watched_whole(self) -> list[str]:
        """The larger containers that calls are compared by as a whole."""
        return [
            f"{self._name(i)} as a whole: a {kind} of {n} items, which takes about {n * _NANOSECONDS / 1000:.0f} us"
            for i, kind, n in self._large
        ]

    def difference(self, key: tuple[Any, ...]) -> str | None:
        """The name of what differs from a key, if anything does."""
        if (i := self._first_difference(key)) is not None:
            return self._name(i)
        return None if len(self.key) == len(key) else "an attribute"

    def has_other_numbers(self, key: tuple[Any, ...]) -> bool:
        """Whether the first difference from a key is in the numbers of a NumPy array."""
        i = self._first_difference(key)
        return i is not None and isinstance(self.key[i], Numbers) and isinstance(key[i], Numbers)

    def _find(self, place: Place, use: Use | None, by_identity: bool = False) -> None:
        """Reads the value at a place."""
        value = value_at(place)
        self.found.append((place, value, by_identity, use))
        if by_identity:
            self.by_identity.append(value)
        if isinstance(value, types.CodeType):
            self.key.append(Same(value))
        else:
            self._read(value, use, by_identity)

    def _read(self, value: Any, use: Use | None, by_identity: bool = False) -> None:
        """Reads a value, and what of it the code reads."""
        key = self.key
        if isinstance(value, Tensor):
            self._read_tensor(value, by_identity)
        elif isinstance(value, SCALARS):
            self.has_values |= not self._is_argument
            key.append(value.__class__)
            key.append(value.hex() if isinstance(value, float) else value)
            if type(value) not in _SCALARS and getattr(value, "__dict__", None):
                # An instance of a class of the user's.
                self._look_into(value, None)
        elif isinstance(value, np.generic):
            self.has_values |= not self._is_argument
            key.append((value.dtype, value.tobytes()))
        elif value is MISSING:
            key.append(Same(value))
        elif use is None or use.root().is_whole:
            self._read_whole(value, by_identity)
        else:
            self._read_part(value, use.root(), by_identity)

    def _read_tensor(self, value: Tensor, by_identity: bool) -> None:
        if by_identity:
            self.key.append(Same(value))
            return
        if reason := why_untraced(value):
            raise Refused(reason)
        place = self._places.get(id(value))
        if place is None:
            place = self._places[id(value)] = len(self.tensors)
            self.tensors.append(value)
        if not self._is_argument:
            self.elsewhere.add(place)
        self.key.append(value.__class__)
        self.key.append(place)

    def _read_part(self, value: Any, use: Use, by_identity: bool) -> None:
        """Reads those parts of a value that the code reads."""
        key = self.key
        if use.identity or not use.is_read():
            key.append(Same(type(value) if isinstance(value, CONTAINERS) and not use.identity else value))
        if not use.is_read():
            return
        if (parts := read_items(value, use)) is not None:
            self._read_items(value, use, parts, by_identity)
        elif is_dataclass(value):
            self._read_fields(value, use)
        elif isinstance(value, CONTAINERS) or not is_object(value):
            self._read_whole(value, by_identity)
        else:
            self._read_object(value, use)

    def _read_items(self, value: Any, use: Use, parts: list[tuple[Any, Any, Use]], by_identity: bool) -> None:
        key = self.key
        key.append(value.__class__)
        if use.structure:
            key.append(len(value))
            if isinstance(value, dict):
                key.extend(Same(name) if isinstance(name, Tensor) else name for name in value)
        elif use.size:
            key.append(len(value))
        if not self._is_argument and type(value) in (list, dict):
            self.items += ((value, name, part) for name, part, _ in parts if part is not MISSING)
        for name, part, part_use in parts:
            key.append(Same(name) if isinstance(name, Tensor) else name)
            self._read(part, part_use, by_identity)

    def _read_fields(self, value: Any, use: Use) -> None:
        """Reads the fields of a dataclass, and its class."""
        self.key.append(value.__class__)
        for name in self._names.fields_read(value, use):
            self.key.append(name)
            self._read(getattr(value, name, MISSING), self._names.use_of_attribute(value, name))
        self._look_into(type(value), use)

    def _read_object(self, value: Any, use: Use | None) -> None:
        if (owner := owner_of(value)) is not None:
            if isinstance(owner, CONTAINERS) and value.__name__ not in CONTAINER_READERS:
                raise Refused(
                    f"it looks up the method {value.__name__} of a {type(owner).__name__}, which it may change"
                )
            self._read(owner, None)
        if isinstance(value, Iterator) or type(value).__module__ in _DRAWING:
            raise Refused(f"it looks up a {type(value).__name__}, which gives something else each time")
        self.key.append(Same(value))
        self.key.append(Same(type(value)))
        if not isinstance(value, FUNCTIONS) or (isinstance(value, types.FunctionType) and vars(value)):
            self._look_into(value, use)

    def _read_whole(self, value: Any, by_identity: bool = False) -> None:
        """Reads a value and what it contains."""
        key = self.key
        if type(value) is np.ndarray and value.nbytes <= _BYTES and not value.dtype.hasobject:
            if (numbers := self.numbers.get(id(value))) is None:
                numbers = self.numbers[id(value)] = Numbers(value)
            key.append(numbers)
        elif isinstance(value, np.ndarray):
            kind = "a NumPy array" if type(value) is np.ndarray else f"a {type(value).__name__}"
            what = f"{kind} of more than {_BYTES >> 20} MiB" if value.nbytes > _BYTES else kind
            raise Refused(f"it looks up {what}, whose numbers may change; make a tensor of it first")
        elif isinstance(value, (set, frozenset)):
            self._count(value)
            key.append(frozenset(value))
        elif isinstance(value, slice):
            key.append(slice)
            self._read_whole((value.start, value.stop, value.step))
        elif (parts := self._parts_of(value)) is not None:
            key.append(value.__class__)
            key.append(len(parts))
            if not self._is_argument and type(value) in (list, dict):
                self.items += ((value, name, part) for name, part in parts)
            for name, part in parts:
                key.append(Same(name) if isinstance(name, Tensor) else name)
                self._read(part, None, by_identity)
            self._read(rest(value), None)
            if has_methods(value):
                self._look_into(type(value), None)
        elif isinstance(value, types.MethodType):
            key.append(types.MethodType)
            self._read((value.__func__, value.__self__), None)
        elif isinstance(value, functools.partial):
            key.append(functools.partial)
            self._read((value.func, value.args, value.keywords), None)
        elif isinstance(value, (collections.deque, collections.UserList)):
            self._count(value)
            key.append(value.__class__)
            self._read(list(value), None)
        elif isinstance(value, (weakref.ref, contextvars.ContextVar)):
            key.append(value.__class__)
            self._read(value.get(MISSING) if isinstance(value, contextvars.ContextVar) else value(), None)
        elif isinstance(value, (bytearray, memoryview, array.array)):
            raise Refused(f"it looks up a {type(value).__name__}, whose numbers may change; make a tensor of it first")
        else:
            self._read_object(value, None)

    def _parts_of(self, value: Any) -> list[tuple[Any, Any]] | None:
        """The parts of a structure that is read as a whole."""
        if isinstance(value, CONTAINERS):
            self._count(value)
        return read_parts(value)

    def _count(self, value: Any) -> None:
        """Refuses a container that makes the items read as a whole more than ``_ITEMS_AT_MOST``."""
        if self._is_argument or len(value) == 0:
            return
        # Lists of tensors are short beside what is computed of these.
        first = itertools.islice(value, _LOOKED_AT)
        has_tensors = not isinstance(value, dict) and any(isinstance(x, Tensor) for x in first)
        self._items_read += 0 if has_tensors else len(value)
        if len(value) >= _LARGE:
            self._large.append((len(self.key), type(value).__name__, len(value)))
        if self._items_read > _ITEMS_AT_MOST:
            raise Refused(
                f"it reads a {type(value).__name__} of {len(value)} items as a whole or may change it, and to compare "
                "these in each call would take longer than the call; read the items that it needs by their keys, or "
                "give them as arguments"
            )

    def _look_into(self, value: Any, use: Use | None) -> None:
        seen = id(value), id(None if use is None else use.root())
        if seen not in self._seen:
            self._seen.add(seen)
            self.objects.append((value, use))
