"""What calls are compared by without Python: the patterns of the values that a :class:`Reader` has read."""

from __future__ import annotations

import array
import collections
import contextvars
import functools
import types
import weakref
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from ferrograd._compile.dependencies import (
    CONTAINERS,
    MISSING,
    PLAIN,
    Names,
    Refused,
    Slots,
    is_dataclass,
    looks_up_itself,
    owner_of,
    read_items,
)
from ferrograd._compile.reader import Numbers, Reader
from ferrograd._compile.uses import Use
from ferrograd._core import Tensor
from ferrograd._kit.tree import children
from ferrograd._layers.module import BaseModule

#: Values that the short way of a call does not compare.
_IN_PYTHON = (
    *PLAIN,
    float,
    np.void,
    np.ndarray,
    set,
    frozenset,
    collections.UserList,
    bytearray,
    memoryview,
    array.array,
    weakref.ref,
    contextvars.ContextVar,
)

Pattern = tuple[str, Any]


class Patterns:
    """Makes the patterns of the values of a call, in the order in which a :class:`Reader` reads them."""

    def __init__(self, names: Names | None = None, numbers: Mapping[int, Numbers] | None = None) -> None:
        #: The places of the tensors that were met, by their ids.
        self.tensors: dict[int, int] = {}
        self._names = names
        self._fg_numbers = numbers or {}

    def tensor(self, value: Tensor) -> int:
        """The number of a tensor."""
        return self.tensors.setdefault(id(value), len(self.tensors))

    def of(self, value: Any, use: Use | None = None, by_identity: bool = False) -> Pattern:
        """What tells a value apart: the same parts that a reader reads.

        Raises:
            Refused: a call needs Python to compare it.
        """
        kind = value.__class__
        if isinstance(value, Tensor):
            return ("same", value) if by_identity else ("tensor", (kind, self.tensor(value)))
        if kind in (int, float, str, bytes):
            return "equal", value
        if isinstance(value, (bool, type(None), type(...))) or (
            isinstance(value, np.generic) and not isinstance(value, np.void)
        ):
            return "same", value
        if kind is types.CodeType:
            return "object", value
        if value is MISSING:
            return "absent", None
        if use is None or use.root().is_whole or isinstance(value, PLAIN):
            return self._of_whole(value, by_identity)
        return self._of_part(value, use.root(), by_identity)

    def _of_part(self, value: Any, use: Use, by_identity: bool) -> Pattern:
        """The pattern of what is read of a value."""
        if not use.is_read():
            return ("kind", type(value)) if isinstance(value, CONTAINERS) else ("object", value)
        if (parts := read_items(value, use)) is not None:
            found = self._of_items(value, use, parts, by_identity)
        elif is_dataclass(value) and self._names is not None:
            names = self._names
            fields = [
                (name, self.of(getattr(value, name, MISSING), names.use_of_attribute(value, name)))
                for name in names.fields_read(value, use)
            ]
            if hidden := names.fields_of_class(value, use):
                fields.append(("__dict__", ("items", (dict, None, [(name, ("absent", None)) for name in hidden]))))
            found = self._of_fields(value, fields)
        else:
            found = self._of_whole(value, by_identity)
        return ("all", [("same", value), found]) if use.identity else found

    def _of_items(self, value: Any, use: Use, parts: list[tuple[Any, Any, Use]], by_identity: bool) -> Pattern:
        patterns = [(name, self.of(part, part_use, by_identity)) for name, part, part_use in parts]
        kind = type(value)
        if use.structure and isinstance(value, dict):
            if kind is collections.OrderedDict:
                raise Refused("it is compared in Python")
            if use.every() is not None:
                return "dict", (kind, patterns)
            return "all", [
                ("dict", (kind, [(name, ("any", None)) for name in value])),
                ("items", (kind, None, patterns)),
            ]
        if use.every() is not None:
            return "sequence", (kind, [found for _, found in patterns])
        return "items", (kind, len(value) if use.structure or use.size else None, patterns)

    def _of_fields(self, value: Any, fields: list[tuple[str, Pattern]]) -> Pattern:
        """The pattern of some attributes, which are looked up without any code of the user's."""
        if looks_up_itself(type(value)) or any(
            isinstance(getattr(type(value), name, None), property) for name, _ in fields
        ):
            raise Refused("it is compared in Python")
        return "fields", (type(value), fields)

    def _of_whole(self, value: Any, by_identity: bool) -> Pattern:
        kind = value.__class__
        if kind in (set, frozenset) and all(type(x) in (int, str, bytes) for x in value):
            return "equal", kind(value)
        if kind in (list, collections.deque) or (isinstance(value, tuple) and not kind.__dictoffset__):
            return "sequence", (kind, [self.of(x, None, by_identity) for x in value])
        if kind in (dict, collections.defaultdict):
            return "dict", (kind, [(name, self.of(x, None, by_identity)) for name, x in value.items()])
        if kind is np.ndarray and value.flags.c_contiguous and id(value) in self._fg_numbers:
            return "numbers", (value, value.dtype, value.shape, self._fg_numbers[id(value)].data)
        if (names := _PARTS.get(kind)) is not None:
            return "fields", (kind, [(name, self.of(getattr(value, name))) for name in names])
        if is_dataclass(value):
            whole = [name for name, _ in children(value) or ()]
            static = [name for name in value.__dataclass_fields__ if name not in whole]
            return self._of_fields(value, [(name, self.of(getattr(value, name))) for name in whole + static])
        if (owner := owner_of(value)) is not None:
            return "all", [("object", value), ("fields", (kind, [("__self__", self.of(owner))]))]
        if isinstance(value, _IN_PYTHON) or children(value) is not None:
            raise Refused("it is compared in Python")
        return "object", value

    def lookups(self, reader: Reader) -> list[tuple[Any, Any, Pattern]]:
        """The places that a call depends on besides its arguments, with the patterns of the values that were read.

        Raises:
            Refused: a call needs Python to compare one of them.
        """
        found = [
            (_place(place[0]), place[1], self.of(value, use, by_identity))
            for place, value, by_identity, use in reader.found
        ]
        absent: dict[tuple[int, Any], Any] = {}
        for value, use in reader.objects:
            for place, name, what in self._absent(value, use):
                absent[id(place), name] = place, name, what
        return [*found, *absent.values()]

    def _absent(self, value: Any, use: Use | None) -> Iterator[tuple[Any, Any, Pattern]]:
        """The places where names of attributes would hide those that were found, or be found."""
        names: Names = self._names or Names()
        read = names.names_read(value, use)
        held = getattr(value, "__dict__", None)
        yield from ((where, name, ("absent", None)) for where, name in names.hidden(value, use))
        yield from ((where, name, ("absent", None)) for where, name in names.missing(value, use))
        if isinstance(value, (types.FunctionType, types.ModuleType)) or type(held) is not dict:
            return
        if not names.is_of_framework(type(value)):
            if names.any:
                # All attributes are among the places, so there is a new one only if there are more.
                yield held, None, ("size", len(held))
            else:
                wanted = names.attributes if read is None else read
                yield from ((held, name, ("absent", None)) for name in sorted(wanted) if name not in held)
        elif isinstance(value, BaseModule) and "forward" not in value.__dict__:
            yield value.__dict__, "forward", ("absent", None)


#: Objects of builtin classes that are told by some of their attributes.
_PARTS: dict[type, tuple[str, ...]] = {
    types.MethodType: ("__func__", "__self__"),
    functools.partial: ("func", "args", "keywords"),
    slice: ("start", "stop", "step"),
}


def _place(where: Any) -> Any:
    """A place as the core takes it: an object with slots is in a tuple.

    Raises:
        Refused: its class looks attributes up in its own way.
    """
    if not isinstance(where, Slots):
        return where
    if looks_up_itself(type(where.owner)):
        raise Refused("it is compared in Python")
    return (where.owner,)
