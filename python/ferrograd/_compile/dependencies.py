"""What a program depends on besides the numbers of its tensors: what the code of a function looks up and reads.

A function finds values in its arguments, in the globals and closures that its code names, and in the attributes of
objects that it reaches through these. `bytecode.py` says what the code does with each of them. What it reads is read
before a call (`reader.py`), and what is no tensor is compared with what it was when the function was traced.
"""

from __future__ import annotations

import array
import builtins
import collections
import contextvars
import functools
import itertools
import operator
import sys
import types
import weakref
from collections.abc import Iterable, Iterator, Mapping, Set
from typing import Any

import numpy as np

from ferrograd._compile.bytecode import Call, Frame, Subscript, Variable, analyse
from ferrograd._compile.uses import KEYS, Use
from ferrograd._core import CompiledCalls, Tensor
from ferrograd._kit.forks import Lock
from ferrograd._kit.tree import children
from ferrograd._layers.module import BaseModule
from ferrograd._optim.states import States

#: Values that are told apart by what they are, not by their identity.
PLAIN = (bool, int, str, bytes, complex, type(None), type(...))
#: These and floats.
SCALARS = (float, *PLAIN)
#: Values that lead to nothing.
_LEAVES = (Tensor, np.ndarray, np.generic, *SCALARS)
FUNCTIONS = (types.FunctionType, types.BuiltinFunctionType, staticmethod, classmethod, property, types.CodeType)
#: Libraries whose code is not searched, and of whose functions and classes nobody changes the attributes.
_FRAMEWORKS = frozenset({"ferrograd", "numpy", "scipy", "torch", "paddle"})
_LIBRARIES = _FRAMEWORKS | sys.stdlib_module_names - {"__main__"}
#: Tables of a module that tell its tensors. These are compared by identity; their numbers are read where they lie.
_TENSORS = frozenset({"_parameters", "_buffers"})
#: What else the call of a module looks into.
_TABLES = _TENSORS | {"_modules", "_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "training"}
#: Builtin functions that may read any variable.
_ANY_VARIABLE = frozenset({"eval", "exec", "globals"})
#: Where the hooks of all modules are, if a dialect that has some is imported.
_EVERY = "ferrograd._layers.global_hooks"
#: Kinds of descriptors whose reads of an object are known.
_KNOWN_DESCRIPTORS = (
    types.FunctionType,
    types.BuiltinFunctionType,
    staticmethod,
    classmethod,
    property,
    functools.cached_property,
    types.MemberDescriptorType,
)
#: Special methods that the use of an object does not call.
_UNUSED = frozenset(
    {"__init__", "__new__", "__repr__", "__str__", "__reduce__", "__getstate__", "__setstate__", "__del__"}
)
#: Classes of libraries that add nothing to what their subclasses read of themselves.
_SIMPLE_BASES = frozenset(
    {
        ("builtins", "object"),
        ("types", "SimpleNamespace"),
        ("argparse", "Namespace"),
        ("argparse", "_AttributeHolder"),
        ("abc", "ABC"),
        ("typing", "Generic"),
        ("typing", "Protocol"),
    }
)
#: Methods that run wherever an attribute is looked up.
_LOOKING = ("__getattr__", "__getattribute__")
#: Dicts that are read item by item, and their methods that read.
_DICTS = (dict, collections.OrderedDict, collections.defaultdict)
_DICT_READERS = frozenset({"get", "keys", "values", "items", "__contains__"})
#: The methods of builtin containers that change nothing, by their names.
CONTAINER_READERS = (
    _DICT_READERS
    | {"copy", "count", "index", "__getitem__", "__len__", "__iter__"}
    | {"union", "intersection", "difference", "symmetric_difference", "isdisjoint", "issubset", "issuperset"}
)
#: The modules and names of the generators of random numbers that all code shares.
_SHARED_GENERATORS = (("random", "_inst"), ("numpy.random.mtrand", "_rand"))
#: Classes of values that lead to nothing.
_NUMBERS = frozenset({float, int, bool, str, bytes, type(None)})
#: Builtin containers, whose items are all that they hold.
CONTAINERS = (list, tuple, dict, set, frozenset, collections.deque)
#: What is compared in another way than by its attributes.
_NO_OBJECTS = (
    np.ndarray,
    slice,
    types.MethodType,
    functools.partial,
    collections.UserList,
    weakref.ref,
    contextvars.ContextVar,
    bytearray,
    memoryview,
    array.array,
    Mapping,
)
#: The most functions that are searched for names. More of them take seconds, and are those of whole libraries.
_FUNCTIONS_AT_MOST = 10_000
#: Stands for the value of a name that is not there.
MISSING = types.SimpleNamespace()

#: A dict, a function or an object with slots and a name in it; or None with a cell, or with a function for its code.
Place = tuple[Any, Any]


class Refused(Exception):
    """A value by which programs cannot be told apart."""


class Same:
    """An object that equals itself alone."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Same) and self.value is other.value

    def __hash__(self) -> int:
        return id(self.value)


class Slots:
    """The slots of an object, as a mapping."""

    def __init__(self, owner: Any) -> None:
        self.owner = owner

    def get(self, name: str, default: Any) -> Any:
        try:
            return object.__getattribute__(self.owner, name)
        except AttributeError:
            return default

    def set(self, name: str, value: Any) -> None:
        """Sets a slot."""
        object.__setattr__(self.owner, name, value)


def _is_of(value: Any, libraries: frozenset[str]) -> bool:
    """Whether a function, a class or a module belongs to one of these libraries."""
    name = value.__name__ if isinstance(value, types.ModuleType) else getattr(value, "__module__", None)
    return isinstance(name, str) and name.partition(".")[0] in libraries


def is_python(kind: type) -> bool:
    """Whether the attributes are all that objects of a class hold: it is ours, or none of its bases is written in C."""

    def is_written(base: type) -> bool:
        if base is object or _is_of(base, frozenset({"ferrograd"})):
            return True
        file = getattr(sys.modules.get(base.__module__), "__file__", "")
        return not _is_of(base, _LIBRARIES) and (file is None or not file.endswith((".so", ".pyd")))

    return all(map(is_written, kind.__mro__))


def read_parts(value: Any) -> list[tuple[Any, Any]] | None:
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
        return read_parts(value)
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


def is_dataclass(value: Any) -> bool:
    """Whether a value is an instance of a dataclass, and no structure of another kind."""
    return hasattr(type(value), "__dataclass_fields__") and not isinstance(value, (list, tuple, dict))


def _is_simple(kind: type) -> bool:
    """Whether all that reads attributes of its objects by itself is Python code that is searched."""
    return all(
        (base.__module__, base.__name__) in _SIMPLE_BASES or not _is_of(base, _LIBRARIES) for base in kind.__mro__
    )


def _looks_up_names(module: types.ModuleType) -> bool:
    """Whether a module computes names that it lacks. What stands for a name that means nothing here never changes."""
    function = vars(module).get("__getattr__")
    return function is not None and getattr(function, "__module__", None) != "ferrograd._kit.public"


def looks_up_itself(kind: type) -> bool:
    """Whether a class defines how its attributes are looked up."""
    return any(name in base.__dict__ for base in kind.__mro__ if base is not object for name in _LOOKING)


def has_methods(value: Any) -> bool:
    """Whether a container may have methods that are searched."""
    return is_dataclass(value) or not _is_of(type(value), _LIBRARIES)


def owner_of(method: Any) -> Any:
    """The object whose method this is, if it is a method written in C that was looked up apart from its object.

    The functions of modules and classes have none, nor have those of the generators of random numbers that Python and
    NumPy share, whose states a trace compares.
    """
    if not isinstance(method, (types.BuiltinFunctionType, types.MethodWrapperType)):
        return None
    owner = method.__self__
    if isinstance(owner, (types.ModuleType, type)):
        return None
    shared = [getattr(sys.modules.get(module), name, None) for module, name in _SHARED_GENERATORS]
    return None if any(owner is generator for generator in shared) else owner


def is_object(value: Any) -> bool:
    """Whether a value is told by its identity and its attributes."""
    return not isinstance(value, _NO_OBJECTS)


def read_items(value: Any, use: Use) -> list[tuple[Any, Any, Use]] | None:
    """The keys, values and uses of the items of a builtin container that are read.

    An item that is not there is ``MISSING``. None if it is another kind of object, or everything of it may be read.
    """
    use, kind = use.root(), type(value)
    every, items = use.every(), use.items()
    if use.is_whole:
        return None
    if kind in _DICTS:
        if use.attributes or not use.methods <= _DICT_READERS:
            return None
        if every is not None:
            return [(key, part, every) for key, part in list(value.items())]
        return [(key, dict.get(value, key, MISSING), part) for key, part in items.items()]
    if kind is not list and not (isinstance(value, tuple) and _is_plain_tuple(kind)):
        return None
    if use.methods or not use.attributes <= set(getattr(kind, "_fields", ())):
        return None
    if every is not None:
        return [(i, part, every) for i, part in enumerate(value)]
    if not all(isinstance(key, int) for key in items):
        return None
    n = len(value)
    return [(i, value[i] if -n <= i < n else MISSING, part) for i, part in items.items()]


def _is_plain_tuple(kind: Any) -> bool:
    """Whether a class is that of tuples, or of named tuples without methods of their own for their items."""
    is_plain = kind.__getitem__ is tuple.__getitem__ and kind.__iter__ is tuple.__iter__
    return kind is tuple or (is_plain and not kind.__dictoffset__ and "_fields" in kind.__dict__)


def _meet_leaf(value: Any, use: Use | None) -> None:
    """Notes a number or a string, which may be the key of an item."""
    if use is None:
        return
    if isinstance(value, KEYS):
        use.add_value(value)
    else:
        use.opened()
    use.parts_opened()


def _use_of_callee(value: Any) -> Use | None:
    """What is read of something that is called, if anybody may read its results."""
    if isinstance(value, (types.FunctionType, types.MethodType, functools.partial)):
        return None
    use = Use()
    use.needs("is_entered")
    return use


def _opened(use: Use | None) -> None:
    if use is not None:
        use.opened()
        use.parts_opened()


class _Surroundings:
    """What the code of a function finds outside of it."""

    def __init__(self, names: Names, f: types.FunctionType) -> None:
        self._names, self._function = names, f
        self.attribute = names.attribute
        self.call = names.call
        self.subscript = names.subscript
        self.probe = names.probe
        self.may_read_any_attribute = names.may_read_any_attribute

    def global_variable(self, name: str) -> Variable:
        """A global variable or a builtin one."""
        held = self._function.__globals__
        place = held, name
        value = held.get(name, MISSING)
        is_builtin = value is MISSING and hasattr(builtins, name)
        is_library = isinstance(value, (types.ModuleType, type)) and _is_of(value, _LIBRARIES)
        if not is_library and value is not self._function:
            self._names.watch(place)
        if is_builtin:
            return Variable(name, None, Use(True))
        use = self._names.place_use(place)
        if is_library:
            use.opened()
        return Variable(name, (id(held), name), use)

    def cell(self, name: str) -> Variable:
        """A variable of the closure."""
        cell = (self._function.__closure__ or ())[self._function.__code__.co_freevars.index(name)]
        self._names.watch((cell, None))
        return Variable(name, (id(cell), None), self._names.place_use((cell, None)))


class Names:
    """What the code of a function, and of the functions and methods that it calls, looks up and reads."""

    def __init__(self) -> None:
        #: The globals and closures that it names, its defaults, and what it holds by itself: owners of methods,
        #: arguments of ``functools.partial``.
        self.places: list[Place] = []
        #: All names. Each may be that of an attribute. The call of a module looks up one by itself.
        self.names: set[str] = {"forward"}
        #: Those that are no globals.
        self.attributes: set[str] = {"forward"}
        #: Attributes that it asks for by a string: they need not be there.
        self.probed: set[str] = set()
        #: Whether it may read attributes that it does not name.
        self.any = False
        #: Why it cannot be known what it reads, if so.
        self.unknown: str | None = None
        #: The tables of tensors of modules in which the function sets others, by their ids.
        self.rebound: dict[int, Any] = {}
        self._fg_held: dict[int, Any] = {}
        self._held_at: dict[int, int] = {}
        self._known: set[tuple[int, Any]] = set()
        #: By place and by attribute: what is read of the values there. By function: its code.
        self._uses: dict[tuple[int, Any], Use] = {}
        self._attribute_uses: dict[str, Use] = {}
        self._frames: dict[int, Frame] = {}
        #: By place: the calls of what is there.
        self._calls: dict[tuple[int, Any], list[Call]] = {}
        self._subscripts: list[Subscript] = []
        self._searched: set[tuple[int, types.CodeType]] = set()
        self._seen: dict[tuple[int, int], Any] = {}
        #: By class: whether it is a framework's, and those of its bases whose attributes are watched.
        self._kinds: dict[type, tuple[bool, list[type]]] = {}
        self._functions: dict[int, types.FunctionType] = {}
        self._objects: list[tuple[Any, Use | None]] = []
        #: The names of the modules that others have as parts.
        self.submodules: set[str] = set()
        #: By number or name: what is read of the arguments of the last call that was searched.
        self._arguments: dict[Any, Use] = {}
        self._lock = Lock()

    @property
    def is_lost(self) -> bool:
        """Whether a thread has begun a search that it will not end, because it is not in this process."""
        return self._lock.was_lost

    def meet(self, *values: Any) -> bool:
        """Searches functions and what they lead to. Returns whether that finds anything new."""
        if not values:
            return False
        with self._lock:
            # The objects at the known places may be others by now, so those are searched first.
            self._find_all((), [])
            return self._find_all(values, [])

    def meet_call(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Searches a function, objects that it gets, and what they lead to."""
        with self._lock:
            named: dict[Any, Any] = {**dict(enumerate(args)), **kwargs}
            self._arguments = self._parameters(function, named)
            self._find_all([function], [(x, self.use_of_argument(name)) for name, x in named.items()])

    def _parameters(self, function: Any, names: Iterable[Any]) -> dict[Any, Use]:
        """The uses of the arguments with these numbers and names, where they are known."""
        f, first = (function.__func__, 1) if isinstance(function, types.MethodType) else (function, 0)
        if not isinstance(f, types.FunctionType) or _is_of(f, _LIBRARIES):
            return {}
        code = f.__code__
        known = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        places = {name: name + first if isinstance(name, int) else name for name in names}
        at = {name: known[i] if i < code.co_argcount else "" for name, i in places.items() if isinstance(i, int)}
        at |= {name: name for name in places if name in known[code.co_posonlyargcount :]}
        return {name: self._frame(f).local(variable) for name, variable in at.items() if variable}

    def frames(self) -> list[Frame]:
        """The functions that were searched."""
        return list(self._frames.values())

    def has_frame(self, f: types.FunctionType) -> bool:
        """Whether a function was searched."""
        return id(f) in self._frames

    def is_called(self, place: Place) -> bool:
        """Whether what is at a place is called."""
        return (id(place[0]), place[1]) in self._calls

    def use_at(self, place: Place) -> Use | None:
        """What is read of the value at a place. None if all is."""
        return None if self.any else self._uses.get((id(place[0]), place[1]))

    def _find_all(self, functions: Iterable[Any], arguments: list[tuple[Any, Use | None]]) -> bool:
        known = len(self.names), len(self.places)
        called = [(value, _use_of_callee(value)) for value in functions]
        before = None
        while self.unknown is None and before != (before := (Use.changes, len(self.names), len(self.places))):
            self._seen.clear()
            self._functions.clear()
            self._objects.clear()
            for value, use in called:
                self._meet(value, use, held=True)
            for value, use in arguments:
                self._meet(value, use)
            self._follow()
            self._resolve()
        self._seen.clear()
        self._functions.clear()
        self._objects.clear()
        return known != (len(self.names), len(self.places))

    def _follow(self) -> None:
        """Meets what is at all places, and what that leads to."""
        places = objects = 0
        while self.unknown is None and (places < len(self.places) or objects < len(self._objects)):
            for place in itertools.islice(self.places, places, None):
                places += 1
                value, use = value_at(place), self.use_at(place)
                self._bind(place, value)
                if value is not MISSING:
                    self._meet(value, use)
            for value, use in self._objects[objects:]:
                objects += 1
                self._look_into(value, use)

    def _bind(self, place: Place, value: Any) -> None:
        """Tells a function that is called by a variable what it gets, or that it may read all of it."""
        is_known = isinstance(value, types.FunctionType) and not _is_of(value, _LIBRARIES)
        for call in self._calls.get((id(place[0]), place[1]), ()):
            if is_known:
                self._frame(value).bind(call)
            else:
                for use in (*call.args, *call.keywords.values()):
                    use.read()

    def _resolve(self) -> None:
        """Finds the items whose keys are values of known places."""
        for owner, key, item, is_set in self._subscripts:
            root = key.root()
            if not root.is_open:
                for value in list(root.values):
                    owner.item(value).join(item)
            elif is_set:
                owner.read()
            else:
                owner.each().join(item)

    # The methods that follow are called by the search of code.

    def attribute(self, name: str) -> Use:
        """The use of an attribute of any object."""
        if name not in self._attribute_uses:
            self._attribute_uses[name] = Use(True)
        return self._attribute_uses[name]

    def place_use(self, place: Place) -> Use:
        """The use of what is at a place."""
        return self._uses.setdefault((id(place[0]), place[1]), Use())

    def call(self, variable: Variable, call: Call) -> None:
        """Notes a call of a variable."""
        variable.use.needs("is_entered")
        if self.is_watched(variable.place):
            self._calls.setdefault(variable.place, []).append(call)
            Use.changes += 1
        else:
            for use in (*call.args, *call.keywords.values()):
                use.read()

    def subscript(self, subscript: Subscript) -> None:
        """Notes an item whose key is no constant."""
        self._subscripts.append(subscript)
        Use.changes += 1

    def probe(self, name: str) -> None:
        """Notes an attribute that the code asks for by a string."""
        self.names.add(name)
        self.attributes.add(name)
        self.probed.add(name)

    def may_read_any_attribute(self) -> None:
        """Notes that attributes are read that the code does not name."""
        if not self.any:
            self.any = True
            Use.changes += 1

    # The search.

    def _meet(self, value: Any, use: Use | None, held: bool = False) -> None:
        if isinstance(value, types.CodeType):
            return
        if isinstance(value, _LEAVES):
            _meet_leaf(value, use)
            return
        use = None if use is None or self.any or use.root().is_whole else use.root()
        key = id(value), id(use)
        if key in self._seen or (use is not None and not use.is_read()):
            return
        self._seen[key] = value
        if isinstance(value, types.MethodType):
            self._meet(value.__func__, use)
            frame = self._frames.get(id(value.__func__))
            self._hold(value.__self__, frame.parameter(0) if frame is not None and frame.code.co_argcount else None)
        elif isinstance(value, functools.partial):
            self._meet(value.func, None, held)
            self._hold(value.args)
            self._hold(value.keywords)
        elif isinstance(value, types.FunctionType):
            if _is_of(value, _LIBRARIES):
                self._meet_library(value)
            else:
                self._meet_function(value, use)
        elif (owner := owner_of(value)) is not None:
            self._meet(owner, None)
        elif isinstance(value, weakref.ref):
            self._meet(value(), None)
        elif isinstance(value, contextvars.ContextVar):
            self._meet(value.get(None), None)
        elif use is not None and (items := read_items(value, use)) is not None:
            self._meet_items(value, use, items)
        elif not is_dataclass(value) and (parts := _parts(value)) is not None:
            _opened(use)
            self._meet_all(parts)
            if not _is_of(type(value), _LIBRARIES):
                # A container with methods of its own.
                self._objects.append((type(value), None))
        elif not isinstance(value, FUNCTIONS):
            _opened(use)
            self.any = self.any or isinstance(value, (operator.attrgetter, operator.methodcaller))
            self._objects.append((value, use))
            if held:
                self._hold(value, use)

    def _meet_all(self, parts: Iterable[tuple[Any, Any]]) -> None:
        """Meets all parts of a structure."""
        for part in [part for _, part in parts if type(part) not in _NUMBERS]:
            self._meet(part, None)

    def _meet_items(self, value: Any, use: Use, parts: list[tuple[Any, Any, Use]]) -> None:
        """Meets the items of a container that are read."""
        fields = getattr(value, "_fields", ())
        for name in use.attributes:
            use.item(fields.index(name)).join(self.attribute(name))
        for _, part, part_use in parts:
            if part is not MISSING:
                self._meet(part, part_use)
        every = use.every()
        if every is not None and isinstance(value, dict):
            for name in value:
                _meet_leaf(name, every)

    def _meet_library(self, value: types.FunctionType) -> None:
        # It may be a transform of a function.
        self._meet(getattr(value, "__wrapped__", None), None)
        for cell in value.__closure__ or ():
            content = value_at((cell, None))
            if value.__module__ == "functools" and type(content) is dict:
                # The functions of ``singledispatch``, to which others may be added.
                self.watch((cell, None))
            self._meet(content, None)

    def _meet_function(self, f: types.FunctionType, use: Use | None) -> None:
        self._functions[id(f)] = f
        if len(self._functions) > _FUNCTIONS_AT_MOST:
            self.unknown = f"it leads to more than {_FUNCTIONS_AT_MOST} functions, too many to search"
            return
        self.watch((f, None))
        frame = self._frame(f)
        if use is None:
            frame.returned.read()
        else:
            use.result().join(frame.returned)
            if not use.methods.isdisjoint(vars(f)) or not use.attributes.isdisjoint(vars(f)):
                self._objects.append((f, use))
        for name in ("__defaults__", "__kwdefaults__"):
            if getattr(f, name) is not None:
                self.watch((f, name))
                self._join_defaults(frame, self.place_use((f, name)), getattr(f, name))

    def _join_defaults(self, frame: Frame, use: Use, defaults: Any) -> None:
        if isinstance(defaults, dict):
            for name in defaults:
                use.item(name).join(frame.local(name))
        else:
            first = frame.code.co_argcount - len(defaults)
            for i in range(max(0, -first), len(defaults)):
                use.item(i).join(frame.parameter(first + i))
        # Other defaults may have another number.
        use.needs("structure")

    def _frame(self, f: types.FunctionType) -> Frame:
        """The code of a function, searched."""
        if (id(f), f.__code__) not in self._searched:
            self._searched.add((id(f), f.__code__))
            self._frames[id(f)] = Frame(f.__code__)
            self.watch((f, None))
            self._search(f)
            analyse(self._frames[id(f)], _Surroundings(self, f))
        return self._frames[id(f)]

    def _hold(self, value: Any, use: Use | None = None) -> None:
        """Adds what a function holds by itself to the places."""
        if value is None:
            return
        if (i := self._held_at.get(id(value))) is None:
            i = self._held_at[id(value)] = len(self._fg_held)
            self._fg_held[i] = value
            self.places.append((self._fg_held, i))
        held = self.place_use((self._fg_held, i))
        if use is None:
            held.read()
        else:
            held.join(use)

    def watch(self, place: Place) -> None:
        """Adds a place, unless it is known."""
        known = id(place[0]), place[1]
        if known not in self._known:
            self._known.add(known)
            self.places.append(place)

    def is_watched(self, key: tuple[int, Any]) -> bool:
        """Whether a place is known."""
        return key in self._known

    def _search(self, f: types.FunctionType) -> None:
        """Finds the names of a function, and the modules that it may import."""
        names = {name for code in _codes(f) for name in code.co_names}
        if not names.isdisjoint(_ANY_VARIABLE) and self.unknown is None:
            called = next(iter(_called_for_variables(f)), None)
            self.unknown = called and f"it calls {called}, which may read any variable"
        package = f.__globals__.get("__package__")
        # It may import these modules itself.
        paths = names | {f"{package}.{name}" for name in names} if package else names
        for path in sorted(paths & sys.modules.keys()):
            if not _is_of(sys.modules[path], _LIBRARIES):
                self.watch((sys.modules, path))
                self.place_use((sys.modules, path)).needs("is_entered")
        self.names |= names
        self.attributes |= {name for name in names if name not in f.__globals__ and not hasattr(builtins, name)}

    def _look_into(self, value: Any, use: Use | None) -> None:
        """Meets the attributes of an object, and those of its methods that the code names or Python calls."""
        kind: type = type(value)
        kinds = (*value.__mro__, *kind.__mro__) if isinstance(value, type) else kind.__mro__
        held = getattr(value, "__dict__", {})
        if isinstance(value, CompiledCalls):
            # The function that it compiles may read any of these; only the compiled function itself reads its records.
            self._meet(value.__dict__.get("_function"), None)
            return
        if isinstance(value, BaseModule):
            self.submodules |= value.__dict__.get("_modules", {}).keys()
        if isinstance(value, BaseModule) and _EVERY in sys.modules:
            self.watch((vars(sys.modules[_EVERY]), "called"))
        if _is_of(type(value), _FRAMEWORKS):
            # Who reads the state of an optimizer, which changes with each of its steps, is not traced.
            for attribute in [x for x in held.values() if not isinstance(x, States)]:
                self._meet(attribute, None)
        self._meet(held.get("__wrapped__"), None)
        if isinstance(value, functools.singledispatchmethod):
            self._meet(value.dispatcher, None)
        for place, _, part in self.of(value, use):
            self._meet(value_at(place), part)
        if use is None and is_dataclass(value):
            self._meet_all(_parts(value) or ())
        # A library calls what its base classes leave to be defined.
        is_called = any(_is_of(kind, _FRAMEWORKS) for kind in kinds)
        names = self.names_read(value, use)
        for base in kinds:
            if _is_of(base, _LIBRARIES):
                continue
            for name, method in list(base.__dict__.items()):
                # The call of a class makes an object.
                is_made = isinstance(value, type) and name in ("__init__", "__new__")
                is_special = name.startswith("__") and (name not in _UNUSED or is_made)
                is_left = is_called and name not in _UNUSED
                by_python = names is None and (is_left or is_special)
                if by_python or name in (self.names if names is None else names):
                    self._meet_method(name, method, use, by_python)

    def _meet_method(self, name: str, method: Any, use: Use | None, by_python: bool) -> None:
        """Meets the function of a method, which reads the object that it is called for."""
        result = self.attribute(name)
        is_function = isinstance(method, types.FunctionType)
        if use is not None and hasattr(type(method), "__get__") and not isinstance(method, _KNOWN_DESCRIPTORS):
            # It may read any attribute of the object.
            use.needs("is_entered")
            self._meet(method, None)
        parts = [method] if is_function else [getattr(method, part, None) for part in ("__func__", "fget", "func")]
        for f in parts:
            if not isinstance(f, types.FunctionType):
                continue
            self._meet(f, None if by_python else result)
            if (frame := self._frames.get(id(f))) is None:
                continue
            if not is_function and not isinstance(method, (staticmethod, classmethod)):
                # The attribute is what the function returns.
                self._meet_function(f, result)
                result.join(frame.returned)
            if use is not None and not isinstance(method, staticmethod) and frame.code.co_argcount:
                use.join(frame.parameter(0))

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

    def names_read(self, value: Any, use: Use | None) -> Set[str] | None:
        """The attributes of an object that the code reads. None if it may be all that it names."""
        if use is None or self.any:
            return None
        use = use.root()
        by_python = use.is_whole or use.is_entered or use.size or use.structure or use.items() or use.every()
        if by_python or not (_is_simple(type(value)) or isinstance(value, types.ModuleType)):
            return None
        if looks_up_itself(type(value)) or (isinstance(value, types.ModuleType) and _looks_up_names(value)):
            return None
        return use.attributes | use.methods

    def of(self, value: Any, use: Use | None = None) -> Iterator[tuple[Place, bool, Use | None]]:
        """The attributes of an object that the code may read.

        Of each: whether its tensors are told by identity, and what is read of it.
        """
        read = self.names_read(value, use)
        is_whole = use is None or use.root().is_whole or self.any
        for place, by_identity in self._places_of(value, self.names if read is None else read):
            is_table = place[1] in _TABLES or not isinstance(place[1], str)
            yield place, by_identity, None if is_whole or is_table else self.use_of_attribute(value, place[1])

    def use_of_attribute(self, value: Any, name: str) -> Use | None:
        """What is read of an attribute. Libraries read all of those that their classes have."""
        if isinstance(value, (types.ModuleType, BaseModule, type)) or _is_simple(type(value)):
            return self.attribute(name)
        return None

    def fields_read(self, value: Any, use: Use) -> list[str]:
        """The attributes of a dataclass that are read and that it has itself, or nobody has."""
        read = self.names_read(value, use)
        fields, held = value.__dataclass_fields__, getattr(value, "__dict__", {})
        if read is None:
            return [name for name in {**fields, **held} if name in self.names]
        return [name for name in sorted(read) if name in fields or name in held or not hasattr(type(value), name)]

    def fields_of_class(self, value: Any, use: Use) -> list[str]:
        """The attributes of a dataclass that are read and that it has from its class."""
        held, fields = getattr(value, "__dict__", None), value.__dataclass_fields__
        if held is None:
            return []
        read = self.names_read(value, use)
        wanted = self.names if read is None else read
        return [
            name for name in sorted(wanted) if name not in fields and name not in held and hasattr(type(value), name)
        ]

    def use_of_argument(self, name: Any) -> Use | None:
        """What is read of an argument. None if all is."""
        return None if self.any else self._arguments.get(name)

    def _places_of(self, value: Any, names: Set[str]) -> Iterator[tuple[Place, bool]]:
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
                    ((held, name), False) for name, x in held.items() if name in read and not isinstance(x, States)
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

    def missing(self, value: Any, use: Use | None = None) -> Iterator[Place]:
        """Attributes that the code asks for by a string, where a module or a class lacks them."""
        read = self.names_read(value, use)
        for name in sorted(self.probed if read is None else self.probed & read):
            if isinstance(value, types.ModuleType):
                if name not in vars(value):
                    yield vars(value), name
            else:
                own = self._bases(value)
                held = {} if isinstance(value, type) else getattr(value, "__dict__", {})
                if name not in held and not any(name in base.__dict__ for base in own):
                    yield from ((base.__dict__, name) for base in own)

    def hidden(self, value: Any, use: Use | None = None) -> Iterator[Place]:
        """Names of attributes that a class has from another one, at the places that would hide these."""
        read = self.names_read(value, use)
        own = self._bases(value)
        for i, base in enumerate(own):
            wanted = self.names if read is None else read
            names = [name for name in base.__dict__ if name[:2] != "__" and (self.any or name in wanted)]
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
