"""What the code of a function does with the values that it looks up: its instructions, gone through once.

Each value on the stack is a :class:`Use`, or something that is known better. An instruction that is not known here, or
whose effect on the stack is another one in this version of Python, ends this: then the function may do anything with
what it looks up.
"""

from __future__ import annotations

import dis
import functools
import types
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, Protocol

from ferrograd._compile.uses import KEYS, Use


class Const(NamedTuple):
    """A constant of the code."""

    value: Any


class Method(NamedTuple):
    """An attribute that is called at once."""

    owner: Use
    name: str


class Variable(NamedTuple):
    """A global variable, or one of a closure. Without a place it is a builtin one."""

    name: str
    place: Any
    use: Use


class Made(NamedTuple):
    """A function that the code makes."""

    frame: Frame


class _Nothing:
    """An empty slot of the stack, or a value that is no value of the program."""


NOTHING = _Nothing()
Value = Any


class Call(NamedTuple):
    """A call of a variable: the uses of what it gets, and of what it returns."""

    args: list[Use]
    keywords: dict[str, Use]
    result: Use


class Subscript(NamedTuple):
    """An item that is read or set: what it is an item of, its key, and its use."""

    owner: Use
    key: Use
    item: Use
    is_set: bool


class Environment(Protocol):
    """Where the code of a function finds what is not its own."""

    def attribute(self, name: str) -> Use:
        """The use of an attribute of any object."""

    def global_variable(self, name: str) -> Variable:
        """A global variable or a builtin one."""

    def cell(self, name: str) -> Variable:
        """A variable of the closure."""

    def call(self, variable: Variable, call: Call) -> None:
        """Notes a call of a variable."""

    def subscript(self, subscript: Subscript) -> None:
        """Notes an item whose key is no constant."""

    def probe(self, name: str) -> None:
        """Notes an attribute that the code asks for by a string."""

    def may_read_any_attribute(self) -> None:
        """Notes that attributes are read that the code does not name."""


class _Unknown(Exception):
    """An instruction that is not known here."""


class Frame:
    """A function as its code tells it: the uses of its variables and of its results."""

    def __init__(self, code: types.CodeType, parent: Frame | None = None) -> None:
        self.code = code
        self.parent = parent
        self.locals: dict[str, Use] = {}
        self.returned = Use(True)
        #: Of the code and the functions in it: the names of the methods and of the builtin functions that it calls, and
        #: whether it sets what others see, or calls what has no name.
        self.methods: set[str] = set()
        self.builtins: set[str] = set()
        self.has_effects = False

    def outermost(self) -> Frame:
        """The function that this one is defined in, perhaps itself."""
        frame = self
        while frame.parent is not None:
            frame = frame.parent
        return frame

    def local(self, name: str) -> Use:
        """The use of a variable of its own."""
        if name not in self.locals:
            self.locals[name] = Use()
        return self.locals[name]

    def parameter(self, i: int) -> Use:
        """The use of an argument."""
        return self.local(self.code.co_varnames[i])

    def bind(self, call: Call) -> None:
        """Joins the uses of a call with those of the parameters and the result."""
        code = self.code
        names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        for i, use in enumerate(call.args):
            if i < code.co_argcount:
                self.local(names[i]).join(use)
            else:
                use.read()
        for name, use in call.keywords.items():
            if name in names[code.co_posonlyargcount :]:
                self.local(name).join(use)
            else:
                use.read()
        call.result.join(self.returned)


#: Functions whose body runs later, or in pieces.
_SUSPENDED = 0x20 | 0x80 | 0x100 | 0x200


def names(text: str) -> frozenset[str]:
    """The words of a text."""
    return frozenset(text.split())


#: Instructions that read all that they take from the stack and leave one value there, and those that leave none.
_READING = names(
    """
    BINARY_OP COMPARE_OP UNARY_POSITIVE UNARY_NEGATIVE UNARY_INVERT BUILD_STRING BUILD_SLICE FORMAT_VALUE FORMAT_SIMPLE
    FORMAT_WITH_SPEC CONVERT_VALUE BUILD_MAP BUILD_CONST_KEY_MAP BUILD_SET LIST_TO_TUPLE LOAD_ASSERTION_ERROR
    CALL_INTRINSIC_1 CALL_INTRINSIC_2 YIELD_VALUE BUILD_TEMPLATE BUILD_INTERPOLATION
    """
)
_TAKING = names("RAISE_VARARGS SET_ADD MAP_ADD SET_UPDATE DICT_UPDATE DICT_MERGE RERAISE")
_POPPING = _READING | _TAKING
#: Instructions without an effect.
_IDLE = names(
    """
    NOP RESUME PRECALL CACHE MAKE_CELL COPY_FREE_VARS SETUP_ANNOTATIONS NOT_TAKEN JUMP_FORWARD JUMP_BACKWARD
    JUMP_BACKWARD_NO_INTERRUPT DELETE_FAST DELETE_DEREF EXTENDED_ARG
    """
)
#: Instructions after which the next one does not run.
_ENDS = names("RETURN_VALUE RETURN_CONST RAISE_VARARGS RERAISE JUMP_FORWARD JUMP_BACKWARD JUMP_BACKWARD_NO_INTERRUPT")
#: Instructions whose effect on the stack is not compared with what Python says.
_UNCOUNTED = _ENDS | {"RETURN_GENERATOR"}
#: Builtin functions that read nothing of their arguments but their classes.
_CLASS_READERS = frozenset({"isinstance", "type", "callable"})
#: Builtin functions that go through the items of their argument.
_ITERATORS = frozenset({"iter", "list", "tuple", "reversed"})
#: Builtin functions of attributes.
_ATTRIBUTES = frozenset({"getattr", "hasattr", "setattr", "delattr"})
#: Builtin functions and attributes through which any attribute may be read.
_ANY = frozenset({"getattr", "setattr", "hasattr", "vars", "eval", "exec"})
_ANY_ATTRIBUTE = frozenset({"__dict__", "attrgetter"})
#: The operator of subscripts, where it is one of the operators.
_SUBSCRIPTS = {i for i, (_, sign) in enumerate(getattr(dis, "_nb_ops", ())) if sign == "[]"}


def analyse(frame: Frame, environment: Environment) -> None:
    """Finds what a function does with what it looks up."""
    code = frame.code
    for name in code.co_varnames[: _parameters(code)]:
        # A comprehension has one parameter, ".0", which is the iterator that it goes through.
        if name[:1] != ".":
            frame.local(name).opened()
    try:
        _Run(frame, environment).run()
    except (_Unknown, IndexError, KeyError, AttributeError, TypeError, ValueError):
        _may_do_anything(frame, code, environment)


def _parameters(code: types.CodeType) -> int:
    return code.co_argcount + code.co_kwonlyargcount + bool(code.co_flags & 4) + bool(code.co_flags & 8)


def _may_do_anything(frame: Frame, code: types.CodeType, environment: Environment) -> None:
    """Everything that code names is read."""
    frame.outermost().has_effects = True
    for name in code.co_names:
        environment.attribute(name).read((code, -1))
        environment.global_variable(name).use.read((code, -1))
    if not _ANY.union(_ANY_ATTRIBUTE).isdisjoint(code.co_names):
        environment.may_read_any_attribute()
    for name in code.co_freevars:
        _closed(frame, name, environment).use.read((code, -1))
    for name in (*code.co_varnames, *code.co_cellvars):
        frame.local(name).read()
    frame.returned.read()
    for inner in code.co_consts:
        if isinstance(inner, types.CodeType):
            _may_do_anything(Frame(inner, frame), inner, environment)


def _closed(frame: Frame, name: str, environment: Environment) -> Variable:
    """A variable that a function shares with one around it."""
    if name not in frame.code.co_freevars:
        return Variable(name, None, frame.local(name))
    if frame.parent is not None:
        return _closed(frame.parent, name, environment)
    return environment.cell(name)


class _Instruction(NamedTuple):
    offset: int
    name: str
    arg: int
    #: By how many values the stack grows.
    effect: int
    #: Where it may jump to, and by how many values the stack grows then.
    target: int | None
    jump_effect: int


#: Instructions with an argument.
_WITH_ARGUMENT = frozenset(getattr(dis, "hasarg", range(dis.HAVE_ARGUMENT, 256)))
#: Instructions that may jump.
_JUMPS = frozenset(dis.hasjrel)


@functools.lru_cache(maxsize=1024)
def _instructions(code: types.CodeType) -> list[_Instruction]:
    """The instructions of some code. Functions that are made again and again have the same."""
    raw = code.co_code
    found: list[_Instruction] = []
    i, extended = 0, 0
    while i < len(raw):
        opcode, arg = raw[i], raw[i + 1] | extended
        start, i = i, i + 2
        while i < len(raw) and raw[i] == 0:
            i += 2
        name = dis.opname[opcode]
        extended = arg << 8 if name == "EXTENDED_ARG" else 0
        oparg = arg if opcode in _WITH_ARGUMENT else None
        target, jump_effect = None, 0
        if opcode in _JUMPS:
            target = i + (-2 if "BACKWARD" in name else 2) * arg
            jump_effect = dis.stack_effect(opcode, oparg, jump=True)
        effect = dis.stack_effect(opcode, oparg, jump=False)
        found.append(_Instruction(start, name, arg, effect, target, jump_effect))
    return found


#: What each instruction does, by its name.
_STEPS: dict[str, Callable[[_Run, int], None] | None] = {}


class _Run:
    """One way through the instructions of a function."""

    def __init__(self, frame: Frame, environment: Environment) -> None:
        self.frame = frame
        self.outermost = frame.outermost()
        self.code = frame.code
        self.environment = environment
        self.stack: list[Value] = []
        #: What is on the stack where jumps lead.
        self.entries: dict[int, list[Value]] = {}
        #: What was on the stack where the instructions begin that were gone through.
        self.seen: dict[int, list[Value]] = {}
        self.keywords: tuple[str, ...] = ()
        #: By id of their uses: the names of attributes.
        self.loaded: dict[int, str] = {}
        self.offset = 0
        #: Whether exceptions of this instruction are caught.
        self.is_caught = False
        #: How many values an instruction has not pushed yet that it counts.
        self.owed = 0

    def run(self) -> None:
        code = self.code
        handlers = list(_handlers(code))
        is_reached = True
        for instruction in _instructions(code):
            self.offset = instruction.offset
            if (entry := self.entries.get(self.offset)) is not None:
                if is_reached:
                    self._meet(entry, self.stack)
                self.stack, is_reached = list(entry), True
            if not is_reached:
                continue
            self.seen[self.offset] = list(self.stack)
            self.is_caught = False
            for start, end, target, depth, has_place in handlers:
                if start <= self.offset < end:
                    values = [*self.stack[:depth], *([NOTHING] if has_place else []), Use(True)]
                    self._jump(target, values)
                    self.is_caught = True
            self._step(instruction)
            is_reached = instruction.name not in _ENDS

    def _step(self, instruction: _Instruction) -> None:
        name, arg, effect = instruction.name, instruction.arg, instruction.effect
        before = len(self.stack)
        if instruction.target is not None:
            self._branch(instruction.target, instruction.jump_effect)
        if name in _POPPING and not (name == "BINARY_OP" and arg in _SUBSCRIPTS):
            pushed = int(name in _READING)
            for value in self._pop(pushed - effect):
                self.use(value).read(self.site)
            self.stack += [Use(True) for _ in range(pushed)]
        elif name not in _IDLE:
            if name not in _STEPS:
                _STEPS[name] = getattr(_Run, f"_{name.lower()}", None)
            step = _STEPS[name]
            if step is None:
                raise _Unknown
            step(self, arg)
        self.owed += effect
        if name != "PRECALL":
            # The next instruction does what this one counts.
            if name not in _UNCOUNTED and len(self.stack) - before != self.owed:
                raise _Unknown
            self.owed = 0

    @property
    def site(self) -> tuple[Any, int]:
        """This place in the code."""
        return self.code, self.offset

    # -- the stack

    def _pop(self, n: int) -> list[Value]:
        if n > len(self.stack):
            raise _Unknown
        values = self.stack[len(self.stack) - n :]
        del self.stack[len(self.stack) - n :]
        return values

    def use(self, value: Value) -> Use:
        """The use of a value whose constants and variables need not be told apart any more."""
        if isinstance(value, Use):
            return value
        if isinstance(value, Variable):
            if value.place is None and value.name in _ANY:
                self.environment.may_read_any_attribute()
            return value.use
        if isinstance(value, Method):
            value.owner.asks(value.name)
            return self.environment.attribute(value.name)
        if isinstance(value, Made):
            value.frame.returned.read()
            return Use(True)
        if isinstance(value, Const):
            return _use_of_constant(value.value)
        return Use(True)

    def _meet(self, entry: list[Value], stack: list[Value]) -> None:
        """Two ways come together."""
        if len(entry) != len(stack):
            raise _Unknown
        for i, (a, b) in enumerate(zip(entry, stack, strict=True)):
            if a is b or (isinstance(a, Variable) and a == b):
                continue
            if isinstance(a, _Nothing) and isinstance(b, _Nothing):
                continue
            a = self.use(a)
            a.join(self.use(b))
            entry[i] = a

    def _jump(self, target: int, values: list[Value]) -> None:
        if (entry := self.entries.get(target)) is not None:
            self._meet(entry, values)
        elif target > self.offset:
            self.entries[target] = [self.use(x) if isinstance(x, (Const, Made)) else x for x in values]
        else:
            # The uses of the first round stand: only the values that this round brings are joined to them.
            before = self.seen[target]
            if any(a is not b and not isinstance(a, (Use, _Nothing)) for a, b in zip(before, values, strict=True)):
                raise _Unknown
            self._meet(before, values)

    def _branch(self, target: int, effect: int) -> None:
        values = list(self.stack)
        if effect < 0:
            del values[len(values) + effect :]
        else:
            values += [Use(True) for _ in range(effect)]
        self._jump(target, values)

    # -- variables

    def _local_name(self, arg: int) -> str:
        return str(self.code._varname_from_oparg(arg))  # type: ignore[attr-defined]

    def _load_fast(self, arg: int) -> None:
        self.stack.append(self.frame.local(self._local_name(arg)))

    _load_fast_check = _load_fast_borrow = _load_fast_and_clear = _load_fast

    def _load_fast_load_fast(self, arg: int) -> None:
        self._load_fast(arg >> 4)
        self._load_fast(arg & 15)

    _load_fast_borrow_load_fast_borrow = _load_fast_load_fast

    def _store_fast(self, arg: int) -> None:
        self.frame.local(self._local_name(arg)).join(self.use(self.stack.pop()))

    def _store_fast_store_fast(self, arg: int) -> None:
        self._store_fast(arg >> 4)
        self._store_fast(arg & 15)

    def _store_fast_load_fast(self, arg: int) -> None:
        self._store_fast(arg >> 4)
        self._load_fast(arg & 15)

    def _load_deref(self, arg: int) -> None:
        self.stack.append(_closed(self.frame, self._local_name(arg), self.environment))

    def _store_deref(self, arg: int) -> None:
        name = self._local_name(arg)
        variable = _closed(self.frame, name, self.environment)
        variable.use.join(self.use(self.stack.pop()))
        if variable.place is not None:
            self.outermost.has_effects = True
            variable.use.read(self.site)

    def _load_closure(self, arg: int) -> None:
        self.stack.append(NOTHING)

    def _load_global(self, arg: int) -> None:
        if arg & 1:
            self.stack.append(NOTHING)
        self.stack.append(self.environment.global_variable(self.code.co_names[arg >> 1]))

    def _store_global(self, arg: int) -> None:
        self.outermost.has_effects = True
        use = self.environment.global_variable(self.code.co_names[arg]).use
        use.join(self.use(self.stack.pop()))
        use.read(self.site)

    def _delete_global(self, arg: int) -> None:
        self.outermost.has_effects = True
        self.environment.global_variable(self.code.co_names[arg]).use.read(self.site)

    def _load_const(self, arg: int) -> None:
        self.stack.append(Const(self.code.co_consts[arg]))

    _load_const_immortal = _load_const_mortal = _load_const

    def _load_small_int(self, arg: int) -> None:
        self.stack.append(Const(arg))

    def _load_common_constant(self, arg: int) -> None:
        self.stack.append(Use(True))

    def _return_value(self, arg: int) -> None:
        self._return(self.stack.pop())

    def _return_const(self, arg: int) -> None:
        self._return(Const(self.code.co_consts[arg]))

    def _return(self, value: Value) -> None:
        self.frame.returned.join(self.use(value))

    def _return_generator(self, arg: int) -> None:
        self.frame.returned.read()
        self.stack.append(Use(True))

    # -- the stack itself

    def _pop_top(self, arg: int) -> None:
        self._pop(1)

    _pop_except = _pop_iter = _pop_top

    def _end_for(self, arg: int) -> None:
        # It removes what `FOR_ITER` would have given, and in CPython 3.12 the iterator, too.
        self._pop(-dis.stack_effect(dis.opmap["END_FOR"]))

    def _push_null(self, arg: int) -> None:
        self.stack.append(NOTHING)

    def _copy(self, arg: int) -> None:
        self.stack.append(self.stack[-arg])

    def _swap(self, arg: int) -> None:
        self.stack[-1], self.stack[-arg] = self.stack[-arg], self.stack[-1]

    # -- tests

    def _test(self, arg: int) -> None:
        self.use(self.stack.pop()).needs("size")

    _pop_jump_if_true = _pop_jump_if_false = _test
    _pop_jump_forward_if_true = _pop_jump_forward_if_false = _test
    _pop_jump_backward_if_true = _pop_jump_backward_if_false = _test

    def _test_or_pop(self, arg: int) -> None:
        self.use(self.stack[-1]).needs("size")
        self.stack.pop()

    _jump_if_true_or_pop = _jump_if_false_or_pop = _test_or_pop

    def _ask_for_none(self, arg: int) -> None:
        self._pop(1)

    _pop_jump_if_none = _pop_jump_if_not_none = _ask_for_none
    _pop_jump_forward_if_none = _pop_jump_forward_if_not_none = _ask_for_none
    _pop_jump_backward_if_none = _pop_jump_backward_if_not_none = _ask_for_none

    def _unary_not(self, arg: int) -> None:
        self._test(arg)
        self.stack.append(Use(True))

    def _to_bool(self, arg: int) -> None:
        self._test(arg)
        self.stack.append(Use(True))

    def _is_op(self, arg: int) -> None:
        values = self._pop(2)
        if not any(isinstance(x, Const) for x in values):
            for x in values:
                self.use(x).needs("identity")
        self.stack.append(Use(True))

    def _contains_op(self, arg: int) -> None:
        key, owner = self._pop(2)
        self.use(key).read(self.site)
        use = self.use(owner)
        if isinstance(key, Const) and _is_key(key.value):
            # Dicts have it as a key. In others it may be anywhere.
            use.asks("__contains__", method=True)
            use.item(key.value)
        else:
            use.asks("__contains__", method=True)
            use.needs("structure")
        self.stack.append(Use(True))

    # -- items

    def _item(self, owner: Use, key: Value, item: Use, is_set: bool = False) -> None:
        """An item is read or set."""
        if isinstance(key, Const):
            if isinstance(key.value, slice):
                owner.needs("structure")
                item.each().join(owner.each())
            elif _is_key(key.value):
                owner.item(key.value).join(item)
            else:
                owner.read(self.site)
                item.read()
        elif isinstance(key, (Use, Variable)) and not self.use(key).root().is_open:
            self.environment.subscript(Subscript(owner, self.use(key), item, is_set))
        elif is_set:
            owner.read(self.site)
        else:
            self.use(key).read(self.site)
            owner.each().join(item)

    def _binary_subscr(self, arg: int) -> None:
        owner, key = self._pop(2)
        item = Use()
        self._item(self.use(owner), key, item)
        self.stack.append(item)

    def _binary_op(self, arg: int) -> None:
        self._binary_subscr(arg)

    def _binary_slice(self, arg: int) -> None:
        owner, start, stop = self._pop(3)
        self.use(start).read(self.site)
        self.use(stop).read(self.site)
        part = Use(True)
        part.each().join(self.use(owner).each())
        part.read(self.site)
        self.stack.append(part)

    def _store_subscr(self, arg: int) -> None:
        self.outermost.has_effects = True
        value, owner, key = self._pop(3)
        use = self.use(value)
        use.read(self.site)
        self._item(self.use(owner), key, use, is_set=True)

    def _delete_subscr(self, arg: int) -> None:
        self.outermost.has_effects = True
        owner, key = self._pop(2)
        item = Use(True)
        item.read(self.site)
        self._item(self.use(owner), key, item, is_set=True)

    def _store_slice(self, arg: int) -> None:
        self.outermost.has_effects = True
        for value in self._pop(4):
            self.use(value).read(self.site)

    def _get_iter(self, arg: int) -> None:
        value = self.stack.pop()
        self.stack.append(self._iterable(value))

    def _iterable(self, value: Value) -> Use:
        use = self.use(value)
        if isinstance(value, Const):
            for x in value.value if isinstance(value.value, tuple) else [...]:
                use.each().join(_use_of_constant(x))
        else:
            use.needs("structure")
        return use

    def _for_iter(self, arg: int) -> None:
        self.stack.append(self.use(self.stack[-1]).each())

    def _unpack_sequence(self, arg: int) -> None:
        use = self.use(self.stack.pop())
        use.needs("structure")
        self.stack += [use.item(i) for i in reversed(range(arg))]

    def _unpack_ex(self, arg: int) -> None:
        use = self.use(self.stack.pop())
        use.read(self.site)
        self.stack += [use] * ((arg & 255) + (arg >> 8) + 1)

    def _build_tuple(self, arg: int) -> None:
        values, use = self._pop(arg), Use()
        for i, value in enumerate(values):
            if not isinstance(value, _Nothing):
                use.item(i).join(self.use(value))
        self.stack.append(use)

    _build_list = _build_tuple

    def _list_append(self, arg: int) -> None:
        value = self.use(self.stack.pop())
        self.use(self.stack[-arg]).each().join(value)

    def _list_extend(self, arg: int) -> None:
        value = self._iterable(self.stack.pop())
        self.use(self.stack[-arg]).each().join(value.each())

    # -- attributes

    def _attribute(self, owner: Value, name: str) -> Use:
        if name in _ANY_ATTRIBUTE:
            self.environment.may_read_any_attribute()
        use = self.use(owner)
        use.asks(name)
        if self.is_caught:
            # It need not be there.
            self.environment.probe(name)
        if name[:2] == "__":
            # Through its class any attribute may be read.
            use.needs("is_entered")
        found = self.environment.attribute(name)
        self.loaded[id(found)] = name
        return found

    def _load_method(self, arg: int) -> None:
        owner = self.use(self.stack.pop())
        self.stack += [NOTHING, Method(owner, self.code.co_names[arg])]

    def _load_attr(self, arg: int) -> None:
        owner = self.stack.pop()
        if _METHODS_ARE_ATTRIBUTES:
            if arg & 1:
                self.stack += [Method(self.use(owner), self.code.co_names[arg >> 1]), NOTHING]
                return
            arg >>= 1
        self.stack.append(self._attribute(owner, self.code.co_names[arg]))

    def _load_super_attr(self, arg: int) -> None:
        owner = self._pop(3)[2]
        if arg & 1:
            self.stack += [Method(self.use(owner), self.code.co_names[arg >> 2]), NOTHING]
        else:
            self.stack.append(self._attribute(owner, self.code.co_names[arg >> 2]))

    def _store_attr(self, arg: int) -> None:
        value, owner = self._pop(2)
        use = self._attribute(owner, self.code.co_names[arg])
        use.join(self.use(value))
        is_made = self.code.co_name == "__init__" and owner is self.frame.locals.get(self.code.co_varnames[0])
        if not is_made:
            self.outermost.has_effects = True
            use.read(self.site)

    def _delete_attr(self, arg: int) -> None:
        self.outermost.has_effects = True
        self._attribute(self.stack.pop(), self.code.co_names[arg]).read(self.site)

    # -- modules

    def _import_name(self, arg: int) -> None:
        self._pop(2)
        self.stack.append(Use(True))

    def _import_from(self, arg: int) -> None:
        self.stack.append(self._attribute(self.stack[-1], self.code.co_names[arg]))

    # -- functions

    def _make_function(self, arg: int) -> None:
        code = self.stack.pop()
        # Defaults, those of keywords, annotations and the closure.
        flags = [flag for flag in (8, 4, 2, 1) if arg & flag and not _ATTRIBUTES_ARE_SET]
        for flag in flags:
            value = self.stack.pop()
            if flag in (1, 2):
                self.use(value).read(self.site)
        frame = Frame(code.value, self.frame)
        analyse(frame, self.environment)
        self.stack.append(Made(frame))

    def _set_function_attribute(self, arg: int) -> None:
        value, function = self._pop(2)
        if arg in (1, 2):
            self.use(value).read(self.site)
        self.stack.append(function)

    def _kw_names(self, arg: int) -> None:
        self.keywords = self.code.co_consts[arg]

    def _call(self, arg: int) -> None:
        args = self._pop(arg)
        names, self.keywords = self.keywords, ()
        self._call_with(args, names)

    def _call_kw(self, arg: int) -> None:
        names = self.stack.pop()
        self._call_with(self._pop(arg), names.value)

    def _call_with(self, args: list[Value], names: Sequence[str]) -> None:
        function, own = self._pop(2)
        if isinstance(function, _Nothing):
            function, own = own, function
        if not isinstance(own, _Nothing):
            args = [own, *args]
        split = len(args) - len(names)
        self.stack.append(self._called(function, args[:split], dict(zip(names, args[split:], strict=True))))

    def _called(self, function: Value, args: list[Value], keywords: dict[str, Value]) -> Value:
        """What a call returns."""
        self._note_call(function)
        if isinstance(function, Variable) and function.place is None and not keywords:
            known = self._called_builtin(function.name, args)
            if known is not None:
                return known
        if isinstance(function, Method):
            known = self._called_method(function, args)
            if known is not None:
                return known
        result = Use(True)
        uses, named = [self.use(x) for x in args], {name: self.use(x) for name, x in keywords.items()}
        if isinstance(function, Made):
            function.frame.bind(Call(uses, named, result))
            return result
        if isinstance(function, Variable) and function.place is not None:
            self.environment.call(function, Call(uses, named, result))
            return result
        for use in (*uses, *named.values()):
            use.read(self.site)
        if isinstance(function, Method):
            function.owner.asks(function.name, method=True)
            self.environment.attribute(function.name).result().join(result)
        elif not isinstance(function, Variable):
            use = self.use(function)
            use.needs("is_entered")
            use.result().join(result)
        elif function.name in _ANY:
            self.environment.may_read_any_attribute()
        return result

    def _note_call(self, function: Value) -> None:
        """Notes the name of what is called. Variables that lie elsewhere are known by their places."""
        name = function.name if isinstance(function, Method) else self.loaded.get(id(function))
        if name is not None:
            self.outermost.methods.add(name)
        elif isinstance(function, Variable) and function.place is None:
            self.outermost.builtins.add(function.name)
        elif not isinstance(function, (Variable, Made)):
            self.outermost.has_effects = True

    def _call_function_ex(self, arg: int) -> None:
        self.outermost.has_effects = True
        for value in self._pop(1 - dis.stack_effect(dis.opmap["CALL_FUNCTION_EX"], arg)):
            if not isinstance(value, _Nothing):
                self.use(value).read(self.site)
        self.stack.append(Use(True))

    def _called_builtin(self, name: str, args: list[Value]) -> Value | None:
        """What a call of a builtin function returns, if it is known what it reads."""
        uses = [self.use(x) for x in args]
        if name == "super":
            return self.frame_of_self()
        if not args:
            return None
        if name in ("len", "bool") and len(args) == 1:
            uses[0].needs("size")
            return Use(True)
        if name in _CLASS_READERS:
            if name == "type":
                # Attributes of the class may be read.
                uses[0].needs("is_entered")
            return Use(True)
        if name == "id":
            uses[0].needs("identity")
            return Use(True)
        if name in _ITERATORS and len(args) == 1:
            part = Use()
            part.each().join(self._iterable(args[0]).each())
            return part
        if name == "enumerate":
            part = Use()
            part.each().item(0).opened()
            part.each().item(1).join(self._iterable(args[0]).each())
            return part
        if name == "zip":
            part = Use()
            for i, value in enumerate(args):
                part.each().item(i).join(self._iterable(value).each())
            return part
        if name in _ATTRIBUTES and len(args) > 1 and isinstance(args[1], Const) and type(args[1].value) is str:
            return self._called_for_attribute(name, args[0], args[1].value, uses[2:])
        return None

    def _called_for_attribute(self, name: str, owner: Value, attribute: str, rest: list[Use]) -> Use:
        use = self._attribute(owner, attribute)
        self.environment.probe(attribute)
        if name == "getattr":
            for default in rest:
                use.join(default)
            return use
        if name != "hasattr":
            for value in rest:
                use.join(value)
            use.read(self.site)
        return Use(True)

    def frame_of_self(self) -> Use:
        """The use of the object whose method this is."""
        return self.outermost.parameter(0)

    def _called_method(self, method: Method, args: list[Value]) -> Value | None:
        """What a method of a builtin container returns, if it is one that reads.

        Objects of other classes may have a method of this name.
        """
        owner, name = method
        if name == "get" and 1 <= len(args) <= 2:
            item = Use()
            self.use(args[0]).read(self.site)
            for default in args[1:]:
                self.use(default).read(self.site)
            self._item(owner, args[0], item)
            if len(args) > 1 and not isinstance(args[1], Const):
                item.read(self.site)
            elif len(args) > 1:
                item.join(self.use(args[1]))
        elif name in ("keys", "values") and not args:
            item = Use()
            item.each().join(owner.each())
        elif name == "items" and not args:
            item = Use()
            item.each().item(0).join(owner.each())
            item.each().item(1).join(owner.each())
        else:
            return None
        owner.asks(name, method=True)
        # A method of this name of another class may return anything.
        self.environment.attribute(name).result().read()
        return item

    # -- with statements and exceptions

    def _before_with(self, arg: int) -> None:
        self.use(self.stack.pop()).read(self.site)
        self.stack += [Use(True), Use(True)]

    def _load_special(self, arg: int) -> None:
        self.use(self.stack.pop()).read(self.site)
        self.stack += [Use(True), NOTHING]

    def _push_exc_info(self, arg: int) -> None:
        exception = self.stack.pop()
        self.stack += [NOTHING, exception]

    def _check_exc_match(self, arg: int) -> None:
        self.use(self.stack.pop()).read(self.site)
        self.stack.append(Use(True))

    def _with_except_start(self, arg: int) -> None:
        self.stack.append(Use(True))


def _is_key(value: Any) -> bool:
    return isinstance(value, KEYS) or (type(value) is tuple and all(map(_is_key, value)))


def _use_of_constant(value: Any) -> Use:
    use = Use(not _is_key(value))
    use.add_value(value)
    return use


def _handlers(code: types.CodeType) -> Iterator[tuple[int, int, int, int, bool]]:
    """The parts of the code whose exceptions are caught: begin, end, where they lead, and how."""
    if code.co_exceptiontable:
        parse: Callable[[types.CodeType], Any] | None = getattr(dis, "_parse_exception_table", None)
        if parse is None:
            raise _Unknown
        yield from ((e.start, e.end, e.target, e.depth, e.lasti) for e in parse(code))


#: Whether methods are loaded as attributes are. From CPython 3.12 on "LOAD_METHOD" is a name of the compiler alone.
_METHODS_ARE_ATTRIBUTES = dis.opmap.get("LOAD_METHOD", 256) >= 256
#: Whether defaults and closures are put into functions one by one (from CPython 3.13 on).
_ATTRIBUTES_ARE_SET = "SET_FUNCTION_ATTRIBUTE" in dis.opmap
