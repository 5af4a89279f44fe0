"""What a program depends on besides the numbers of its tensors, and how each call is compared with it.

A function finds values in its arguments, in the globals and closures that its code names, and in the attributes of
objects that it reaches through these. All of them are read before a call, and those that are no tensors are compared
with what they were when the function was traced.
"""

from __future__ import annotations

import array
import builtins
import collections
import contextvars
import functools
import operator
import sys
import threading
import types
import weakref
from collections.abc import Collection, Iterator, Mapping
from typing import Any

import numpy as np

from ferrograd import _core
from ferrograd._compile.floats import Number
from ferrograd._core import Tensor
from ferrograd._dialects.numbers import NATIVE
from ferrograd._nn.module import BaseModule
from ferrograd._tree import children, rest

#: Values that are told apart by what they are, not by their identity.
PLAIN = (bool, int, str, bytes, complex, type(None), type(...))
_FUNCTIONS = (types.FunctionType, types.BuiltinFunctionType, staticmethod, classmethod, property, types.CodeType)
#: Modules whose objects give other numbers each time.
_DRAWING = frozenset({"random", "numpy.random._generator", "numpy.random.mtrand"})
#: Libraries whose code is not searched, and of whose functions and classes nobody changes the attributes.
_FRAMEWORKS = frozenset({"ferrograd", "numpy", "scipy", "torch", "paddle"})
_LIBRARIES = _FRAMEWORKS | sys.stdlib_module_names - {"__main__"}
#: Tables of a module that tell its tensors. These are compared by identity; their numbers are read where they lie.
_TENSORS = frozenset({"_parameters", "_buffers"})
#: What else the call of a module looks into.
_TABLES = _TENSORS | {"_modules", "_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "training"}
#: Code with one of these names may read any attribute.
_ANY = frozenset({"getattr", "setattr", "hasattr", "vars", "__dict__", "attrgetter", "eval", "exec"})
#: Builtin functions that may read any variable.
_ANY_VARIABLE = frozenset({"eval", "exec", "globals"})
#: Where the torch dialect keeps the hooks of all modules, if it is imported.
_EVERY = "ferrograd.torch.nn.modules._every"
#: Special methods that the use of an object does not call.
_UNUSED = frozenset(
    {"__init__", "__new__", "__repr__", "__str__", "__reduce__", "__getstate__", "__setstate__", "__del__"}
)
#: Values that the short way of a call does not compare.
_IN_PYTHON = (
    float,
    np.void,
    np.ndarray,
    set,
    frozenset,
    slice,
    types.MethodType,
    functools.partial,
    collections.deque,
    collections.UserList,
    bytearray,
    memoryview,
    array.array,
    weakref.ref,
    contextvars.ContextVar,
)
#: Code with one of these names may draw numbers that no state tells.
_UNTOLD = frozenset({"default_rng", "Generator", "RandomState", "SystemRandom", "urandom", "secrets", "PCG64"})
#: The most bytes of a NumPy array that calls are compared by. Larger ones would take longer than many functions do.
_BYTES = 1 << 22
#: The most functions that are searched for names. More of them take seconds, and are those of whole libraries.
_FUNCTIONS_AT_MOST = 10_000
#: Stands for the value of a name that is not there.
MISSING = types.SimpleNamespace()

#: A dict, a function or an object with slots and a name in it; or None with a cell, or with a function for its code.
Place = tuple[Any, Any]


class Refused(Exception):
    """A value that no program can be told by."""


class Same:
    """An object that equals itself alone."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Same) and self.value is other.value

    def __hash__(self) -> int:
        return id(self.value)


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


class Slots:
    """The slots of an object, as a mapping."""

    def __init__(self, owner: Any) -> None:
        self._owner = owner

    def get(self, name: str, default: Any) -> Any:
        try:
            return object.__getattribute__(self._owner, name)
        except AttributeError:
            return default

    def set(self, name: str, value: Any) -> None:
        """Sets a slot."""
        object.__setattr__(self._owner, name, value)


def _is_of(value: Any, libraries: frozenset[str]) -> bool:
    """Whether a function, a class or a module belongs to one of these libraries."""
    name = value.__name__ if isinstance(value, types.ModuleType) else getattr(value, "__module__", None)
    return isinstance(name, str) and name.partition(".")[0] in libraries


def _is_python(kind: type) -> bool:
    """Whether the attributes are all that objects of a class hold: it is ours, or none of its bases is written in C."""

    def is_written(base: type) -> bool:
        if base is object or _is_of(base, frozenset({"ferrograd"})):
            return True
        file = getattr(sys.modules.get(base.__module__), "__file__", "")
        return not _is_of(base, _LIBRARIES) and (file is None or not file.endswith((".so", ".pyd")))

    return all(map(is_written, kind.__mro__))


def _read_parts(value: Any) -> list[tuple[Any, Any]] | None:
    """The keys and parts of a structure; None for a leaf.

    Raises:
        Refused: a mapping of another library does not give its items.
    """
    try:
        return children(value)
    except Exception as error:
        raise Refused(f"it looks up a {type(value).__name__}, whose items raise {type(error).__name__}") from error


def _parts(value: Any) -> list[tuple[Any, Any]] | None:
    """The keys and parts of a structure, without those that it does not give; None for a leaf."""
    try:
        return _read_parts(value)
    except Refused:
        return []


def value_at(place: Place) -> Any:
    """The value at a place now."""
    where, name = place
    if isinstance(where, types.FunctionType):
        return where.__code__ if name is None else getattr(where, name)
    try:
        return where.cell_contents if name is None else where.get(name, MISSING)
    except ValueError:  # The cell is empty yet.
        return MISSING


def _codes(f: types.FunctionType) -> Iterator[types.CodeType]:
    """The code of a function and of those that are defined in it."""
    codes = [f.__code__]
    while codes:
        code = codes.pop()
        yield code
        codes.extend(c for c in code.co_consts if isinstance(c, types.CodeType))


class Names:
    """What the code of a function, and of the functions and methods that it calls, looks up."""

    def __init__(self) -> None:
        #: The globals and closures that it names, its defaults, and what it holds by itself: owners of methods,
        #: arguments of ``functools.partial``.
        self.places: list[Place] = []
        #: All names. Each may be that of an attribute. The call of a module looks up one by itself.
        self.names: set[str] = {"forward"}
        #: Those that are no globals.
        self.attributes: set[str] = {"forward"}
        #: Whether it may read attributes that it does not name.
        self.any = False
        #: Why it cannot be known what it reads, if so.
        self.unknown: str | None = None
        #: The tables of tensors of modules in which the function sets others, by their ids.
        self.rebound: dict[int, Any] = {}
        self._held: dict[int, Any] = {}
        self._known: set[tuple[int, Any]] = set()
        self._seen: dict[int, Any] = {}
        #: By class: whether it is a framework's, and those of its bases whose attributes are watched.
        self._kinds: dict[type, tuple[bool, list[type]]] = {}
        self._functions: list[types.FunctionType] = []
        self._objects: list[Any] = []
        self._lock = threading.RLock()

    def meet(self, *values: Any) -> bool:
        """Searches functions, objects that they get, and what they lead to. Whether that finds anything new."""
        with self._lock:
            return self._find_all(values)

    def _find_all(self, values: tuple[Any, ...]) -> bool:
        known = len(self.names), len(self.places)
        for value in values:
            self._meet(value, held=True)
        before = None
        while self.unknown is None and before != (before := (len(self.names), len(self._seen))):
            for f in self._functions:
                self._search(f)
                if len(self._functions) > _FUNCTIONS_AT_MOST:
                    self.unknown = f"it leads to more than {_FUNCTIONS_AT_MOST} functions, too many to search"
                    break
            for value in self._objects:
                self._look_into(value)
        self._seen.clear()
        self._functions.clear()
        self._objects.clear()
        return known != (len(self.names), len(self.places))

    def _meet(self, value: Any, held: bool = False) -> None:
        if isinstance(value, (Tensor, np.ndarray, np.generic, float, *PLAIN)) or id(value) in self._seen:
            return
        self._seen[id(value)] = value
        if isinstance(value, types.MethodType):
            self._meet(value.__func__)
            self._hold(value.__self__)
        elif isinstance(value, functools.partial):
            self._meet(value.func, held)
            self._hold((value.args, value.keywords))
        elif isinstance(value, types.FunctionType):
            if _is_of(value, _LIBRARIES):
                # It may be a transform of a function.
                self._meet(getattr(value, "__wrapped__", None))
                for cell in value.__closure__ or ():
                    content = value_at((cell, None))
                    if value.__module__ == "functools" and type(content) is dict:
                        # The functions of ``singledispatch``, to which others may be added.
                        self._watch((cell, None))
                    self._meet(content)
            else:
                self._functions.append(value)
                self._watch((value, None))
                for name in ("__defaults__", "__kwdefaults__"):
                    if (defaults := getattr(value, name)) is not None:
                        self._watch((value, name))
                        self._meet(defaults)
        elif isinstance(value, weakref.ref):
            self._meet(value())
        elif isinstance(value, contextvars.ContextVar):
            self._meet(value.get(None))
        elif (parts := _parts(value)) is not None:
            for _, part in parts:
                self._meet(part)
        elif not isinstance(value, _FUNCTIONS):
            self.any = self.any or isinstance(value, (operator.attrgetter, operator.methodcaller))
            self._objects.append(value)
            if held:
                self._hold(value)

    def _hold(self, value: Any) -> None:
        """Adds what a function holds by itself to the places."""
        if value is not None and (id(value), "held") not in self._known:
            self._known.add((id(value), "held"))
            self._held[len(self._held)] = value
            self.places.append((self._held, len(self._held) - 1))
            self._meet(value)

    def _watch(self, place: Place) -> bool:
        """Adds a place, unless it is known."""
        known = id(place[0]), place[1]
        if known in self._known:
            return False
        self._known.add(known)
        self.places.append(place)
        return True

    def _search(self, f: types.FunctionType) -> None:
        """Finds the names, globals and closures of a function."""
        names = {name for code in _codes(f) for name in code.co_names}
        if not names.isdisjoint(_ANY_VARIABLE) and self.unknown is None:
            called = next(iter(_called_for_variables(f)), None)
            self.unknown = called and f"it calls {called}, which may read any variable"
        package = f.__globals__.get("__package__")
        # It may import these modules itself.
        paths = names | {f"{package}.{name}" for name in names} if package else names
        for path in sorted(paths & sys.modules.keys()):
            module = sys.modules[path]
            if not _is_of(module, _LIBRARIES) and self._watch((sys.modules, path)):
                self._meet(module)
        self.names |= names
        self.attributes |= {name for name in names if name not in f.__globals__ and not hasattr(builtins, name)}
        self.any = self.any or not names.isdisjoint(_ANY)
        cells: list[Place] = [(cell, None) for cell in f.__closure__ or ()]
        for place in cells + [(f.__globals__, name) for name in sorted(names) if name in f.__globals__]:
            value = value_at(place)
            if (id(place[0]), place[1]) in self._known or value is f:
                continue
            if not (isinstance(value, (types.ModuleType, type)) and _is_of(value, _LIBRARIES)):
                self._watch(place)
            self._meet(value)

    def _look_into(self, value: Any) -> None:
        """Meets the attributes of an object, and those of its methods that the code names or Python calls."""
        kind: type = type(value)
        kinds = (*value.__mro__, *kind.__mro__) if isinstance(value, type) else kind.__mro__
        held = getattr(value, "__dict__", {})
        if isinstance(value, BaseModule) and _EVERY in sys.modules:
            self._watch((vars(sys.modules[_EVERY]), "called"))
        if _is_of(type(value), _FRAMEWORKS):
            for attribute in held.values():
                self._meet(attribute)
        self._meet(held.get("__wrapped__"))
        if isinstance(value, functools.singledispatchmethod):
            self._meet(value.dispatcher)
        for place, _ in self.of(value):
            self._meet(value_at(place))
        # A library calls what its base classes leave to be defined.
        is_called = any(_is_of(kind, _FRAMEWORKS) for kind in kinds)
        for kind in kinds:
            if _is_of(kind, _LIBRARIES):
                continue
            for name, method in list(kind.__dict__.items()):
                # The call of a class makes an object.
                is_made = isinstance(value, type) and name in ("__init__", "__new__")
                is_special = name.startswith("__") and (name not in _UNUSED or is_made)
                if is_called or is_special or name in self.names:
                    for f in (method, getattr(method, "__func__", None), getattr(method, "fget", None)):
                        if isinstance(f, types.FunctionType):
                            self._meet(f)

    def is_of_framework(self, kind: type) -> bool:
        """Whether this library or another framework defines a class."""
        return self._kind(kind)[0]

    def _kind(self, kind: type) -> tuple[bool, list[type]]:
        if (known := self._kinds.get(kind)) is None:
            own = [] if _is_of(kind, _LIBRARIES) else [base for base in kind.__mro__ if not _is_of(base, _LIBRARIES)]
            known = self._kinds[kind] = _is_of(kind, _FRAMEWORKS), own
        return known

    def _bases(self, value: Any) -> list[type]:
        """The classes in whose attributes those of an object or a class are found, if it has none of its own."""
        if not isinstance(value, type):
            return self._kind(type(value))[1]
        return [*self._kind(value)[1], *self._kind(type(value))[1]]

    def of(self, value: Any) -> Iterator[tuple[Place, bool]]:
        """The attributes of an object that the code may read, and whether their tensors are told by identity."""
        names = self.names
        if isinstance(value, types.ModuleType):
            if not _is_of(value, _LIBRARIES):
                held = vars(value)
                yield from (((held, name), False) for name in sorted(names) if name in held)
            return
        if isinstance(value, types.FunctionType):
            held = vars(value)
            yield from (((held, name), False) for name in held if name != "__wrapped__" and (self.any or name in names))
            return
        if isinstance(value, type) and _is_of(value, _LIBRARIES):
            return
        kind = value if isinstance(value, type) else type(value)
        is_ours = self.is_of_framework(kind)
        if isinstance(value, BaseModule):
            held = value.__dict__
            for name in held:
                if name in _TABLES or name in names or (name[:1] != "_" if is_ours else self.any):
                    yield (held, name), name in _TENSORS and id(held[name]) not in self.rebound
        elif kind is not value:
            held = getattr(value, "__dict__", {})
            if type(held) is dict:
                read = held if self.any and not is_ours else names & held.keys()
                # The counts in the state of an optimizer change with each of its steps, which asks for them anew.
                yield from (
                    ((held, name), False) for name in held if name in read and not (is_ours and name == "state")
                )
        for base in self._bases(value):
            for name, attribute in base.__dict__.items():
                if name[:2] == "__":
                    if isinstance(attribute, types.FunctionType) and name not in _UNUSED:
                        yield (base.__dict__, name), False
                elif not (self.any or name in names):
                    continue
                elif isinstance(attribute, types.MemberDescriptorType):
                    if kind is not value:
                        yield (Slots(value), name), False
                else:
                    yield (base.__dict__, name), False

    def hidden(self, value: Any) -> Iterator[Place]:
        """Names of attributes that a class has from another one, at the places that would hide these."""
        own = self._bases(value)
        for i, base in enumerate(own):
            names = [name for name in base.__dict__ if name[:2] != "__" and (self.any or name in self.names)]
            for other in own[:i]:
                yield from ((other.__dict__, name) for name in names if name not in other.__dict__)


def _called_for_variables(f: types.FunctionType) -> Iterator[str]:
    """The builtin functions in its code that may read any variable."""
    import dis

    for code in _codes(f):
        for instruction in dis.get_instructions(code):
            is_variable = instruction.opname in ("LOAD_GLOBAL", "LOAD_NAME")
            if is_variable and instruction.argval in _ANY_VARIABLE and instruction.argval not in f.__globals__:
                yield instruction.argval


class Reader:
    """Reads the values that a call depends on: their tensors, in order, and a key of everything else."""

    def __init__(self, modes: Any, names: Names, floats: Collection[Any] = ()) -> None:
        self.tensors: list[Tensor] = []
        #: The places in `tensors` of those that the code finds elsewhere than in its arguments.
        self.elsewhere: set[int] = set()
        self.key: list[Any] = [modes]
        #: What the code finds elsewhere than in its arguments: a place, its value, and whether its tensors are told by
        #: identity.
        self.found: list[tuple[Place, Any, bool]] = []
        #: Lists and dicts that the code finds elsewhere, with a name and a value that are in them.
        self.items: list[tuple[Any, Any, Any]] = []
        #: Tables of tensors that are told by identity.
        self.by_identity: list[Any] = []
        #: Objects whose attributes were read.
        self.objects: list[Any] = []
        #: The arguments that are floats with a tensor in their place, and the number of that tensor.
        self.floats: dict[Any, int] = {}
        #: By the ids of NumPy arrays: the numbers that are part of the key.
        self.numbers: dict[int, Numbers] = {}
        self._as_tensors = floats
        self._names = names
        #: Whether what is read comes from an argument.
        self._is_argument = True
        self._places: dict[int, int] = {}
        self._seen: set[int] = set()
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
                self._read(value)
        self._is_argument = False
        for place in self._names.places:
            self._begins.append((len(self.key), ("", place[1])))
            self._find(place)
        for value in self.objects:
            for place, by_identity in self._names.of(value):
                self._begins.append((len(self.key), (value, place[1])))
                self.key.append(place[1])
                try:
                    self._find(place, by_identity)
                except Refused as refusal:
                    raise Refused(f"{self._name(len(self.key))}: {refusal}") from None
        return tuple(self.key)

    def sees_all(self) -> bool:
        """Whether arrays of NumPy that the function makes follow from what was read.

        It is not known where code may draw from generators of its own, and what objects of other libraries hold.
        """
        told = (type, types.ModuleType, types.FunctionType, types.SimpleNamespace, np.ufunc, np.dtype)
        objects = (x for x in self.objects if not isinstance(x, told))
        return all(_is_python(type(x)) for x in objects) and self._names.names.isdisjoint(_UNTOLD)

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

    def difference(self, key: tuple[Any, ...]) -> str | None:
        """The name of what differs from a key, if anything does."""
        if (i := self._first_difference(key)) is not None:
            return self._name(i)
        return None if len(self.key) == len(key) else "an attribute"

    def has_other_numbers(self, key: tuple[Any, ...]) -> bool:
        """Whether the first difference from a key is in the numbers of a NumPy array."""
        i = self._first_difference(key)
        return i is not None and isinstance(self.key[i], Numbers) and isinstance(key[i], Numbers)

    def _find(self, place: Place, by_identity: bool = False) -> None:
        """Reads the value at a place."""
        value = value_at(place)
        self.found.append((place, value, by_identity))
        if by_identity:
            self.by_identity.append(value)
        if isinstance(value, types.CodeType):
            self.key.append(Same(value))
        else:
            self._read(value, by_identity)

    def _read(self, value: Any, by_identity: bool = False) -> None:
        """Reads a value and what it contains."""
        key = self.key
        if isinstance(value, Tensor):
            if by_identity:
                key.append(Same(value))
                return
            place = self._places.get(id(value))
            if place is None:
                place = self._places[id(value)] = len(self.tensors)
                self.tensors.append(value)
            if not self._is_argument:
                self.elsewhere.add(place)
            key.append(value.__class__)
            key.append(place)
        elif isinstance(value, (float, *PLAIN)):
            key.append(value.__class__)
            key.append(value.hex() if isinstance(value, float) else value)
            if type(value) not in (*PLAIN, float, Number) and getattr(value, "__dict__", None):
                # An instance of a class of the user's.
                self._look_into(value)
        elif isinstance(value, np.generic):
            key.append((value.dtype, value.tobytes()))
        elif type(value) is np.ndarray and value.nbytes <= _BYTES and not value.dtype.hasobject:
            if (numbers := self.numbers.get(id(value))) is None:
                numbers = self.numbers[id(value)] = Numbers(value)
            key.append(numbers)
        elif isinstance(value, np.ndarray):
            kind = "a NumPy array" if type(value) is np.ndarray else f"a {type(value).__name__}"
            what = f"{kind} of more than {_BYTES >> 20} MiB" if value.nbytes > _BYTES else kind
            raise Refused(f"it looks up {what}, whose numbers may change; make a tensor of it first")
        elif isinstance(value, (set, frozenset)):
            key.append(frozenset(value))
        elif isinstance(value, slice):
            key.append(slice)
            self._read((value.start, value.stop, value.step))
        elif (parts := _read_parts(value)) is not None:
            key.append(value.__class__)
            key.append(len(parts))
            if not self._is_argument and type(value) in (list, dict):
                self.items += ((value, name, part) for name, part in parts)
            for name, part in parts:
                key.append(Same(name) if isinstance(name, Tensor) else name)
                self._read(part, by_identity)
            self._read(rest(value))
        elif isinstance(value, types.MethodType):
            key.append(types.MethodType)
            self._read((value.__func__, value.__self__))
        elif isinstance(value, functools.partial):
            key.append(functools.partial)
            self._read((value.func, value.args, value.keywords))
        elif isinstance(value, (collections.deque, collections.UserList)):
            key.append(value.__class__)
            self._read(list(value))
        elif isinstance(value, (weakref.ref, contextvars.ContextVar)):
            key.append(value.__class__)
            self._read(value.get(MISSING) if isinstance(value, contextvars.ContextVar) else value())
        elif isinstance(value, (bytearray, memoryview, array.array)):
            raise Refused(f"it looks up a {type(value).__name__}, whose numbers may change; make a tensor of it first")
        else:
            if isinstance(value, Iterator) or type(value).__module__ in _DRAWING:
                raise Refused(f"it looks up a {type(value).__name__}, which gives something else each time")
            key.append(Same(value))
            key.append(Same(type(value)))
            if not isinstance(value, _FUNCTIONS) or (isinstance(value, types.FunctionType) and vars(value)):
                self._look_into(value)

    def _look_into(self, value: Any) -> None:
        if id(value) not in self._seen:
            self._seen.add(id(value))
            self.objects.append(value)


def pattern(
    value: Any, tensors: dict[int, int], numbers: Mapping[int, Numbers], by_identity: bool = False
) -> tuple[str, Any]:
    """What tells a value apart, for calls without Python: the same parts that :class:`Reader` reads.

    ``tensors`` are the places of those that were met, by their ids, and ``numbers`` those of arrays.

    Raises:
        Refused: a call needs Python to compare it.
    """
    kind = value.__class__
    if isinstance(value, Tensor):
        if by_identity:
            return "same", value
        return "tensor", (kind, tensors.setdefault(id(value), len(tensors)))
    if kind in (int, float, str, bytes):
        return "equal", value
    if kind in (set, frozenset) and all(type(x) in (int, str, bytes) for x in value):
        return "equal", kind(value)
    if kind is list or (isinstance(value, tuple) and not kind.__dictoffset__):
        return "sequence", (kind, [pattern(x, tensors, numbers, by_identity) for x in value])
    if kind is dict:
        return "dict", [(name, pattern(x, tensors, numbers, by_identity)) for name, x in value.items()]
    if isinstance(value, (bool, type(None), type(...))) or (
        isinstance(value, np.generic) and not isinstance(value, np.void)
    ):
        return "same", value
    if kind is np.ndarray and value.flags.c_contiguous and id(value) in numbers:
        return "numbers", (value, value.dtype, value.shape, numbers[id(value)].data)
    if isinstance(value, (*PLAIN, *_IN_PYTHON)) or value is MISSING or children(value) is not None:
        raise Refused("it is compared in Python")
    return "object", value


def lookups(names: Names, reader: Reader, tensors: dict[int, int]) -> list[tuple[Any, Any, tuple[str, Any]]]:
    """The places that a call depends on besides its arguments, with the patterns of the values that were read.

    Raises:
        Refused: a call needs Python to compare one of them.
    """
    if any(isinstance(place[0], Slots) for place, _, _ in reader.found):
        raise Refused("it is compared in Python")
    found = [
        (*place, pattern(value, tensors, reader.numbers, by_identity)) for place, value, by_identity in reader.found
    ]
    for value in reader.objects:
        found += [(*place, ("absent", None)) for place in names.hidden(value)]
        held = getattr(value, "__dict__", None)
        if isinstance(value, types.FunctionType):
            continue
        if type(held) is dict and not isinstance(value, types.ModuleType) and not names.is_of_framework(type(value)):
            if names.any:
                # All attributes are among the places, so there is a new one only if there are more.
                found.append((held, None, ("size", len(held))))
            else:
                found += [(held, name, ("absent", None)) for name in sorted(names.attributes) if name not in held]
        elif isinstance(value, BaseModule) and "forward" not in value.__dict__:
            found.append((value.__dict__, "forward", ("absent", None)))
    return found
