"""``__torch_function__`` of subclasses of the tensors, and modes: who answers for a function of torch.

Nothing of it is in place until a program defines such a subclass or enters a mode. Then the functions of the core ask
:func:`asked`, those in Python are given code that asks, and the methods are wrapped that the subclass inherits; a mode
wraps the methods of all tensors while it is on. A function stays the same object.
"""

from __future__ import annotations

import functools
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from importlib import import_module
from types import BuiltinFunctionType, FunctionType
from typing import Any

from ferrograd import _core
from ferrograd._core import TorchTensor

#: The modules whose functions ask.
_SPACES = (
    *("", ".functional", ".nn.functional", ".linalg", ".fft", ".special"),
    *(f".nn._functional.root_{name}" for name in ("forms", "norms", "recurrent")),
)
#: Functions that make no use of tensors, or ask by themselves.
_LEFT_OUT = frozenset({"compile", "is_tensor", "is_storage", "load", "save", "typename", "vmap", "overrides"})
#: Methods that every tensor answers for by itself.
_OWN = frozenset(
    (
        *("__class__", "__delattr__", "__dir__", "__getattribute__", "__getstate__", "__hash__", "__init__"),
        *("__init_subclass__", "__new__", "__reduce__", "__reduce_ex__", "__setattr__", "__setstate__", "__sizeof__"),
        *("__subclasshook__", "__torch_function__", "__dlpack__", "__dlpack_device__", "__array__", "__array_ufunc__"),
        *("__array_namespace__", "__array_function__", "__array_wrap__", "__array_priority__", "__copy__"),
        *("__deepcopy__", "__format__", "__rich_repr__", "_repr_html_", "_make_subclass", "_make_wrapper_subclass"),
        *("as_subclass", "backward", "data_ptr", "dim", "element_size", "get_device", "has_names", "is_complex"),
        *("is_conj", "is_contiguous", "is_floating_point", "is_neg", "is_same_size", "is_set_to", "is_signed", "item"),
        *("ndimension", "nelement", "numel", "numpy", "register_hook", "requires_grad_", "retain_grad", "size"),
        *("storage", "storage_offset", "stride", "tolist", "type", "untyped_storage"),
    )
)
#: The methods by which operators are known to those who answer for them.
OPERATORS = {
    **{f"__{name}__": name for name in ("add", "sub", "mul", "matmul", "eq", "ne", "lt", "le", "gt", "ge")},
    **{"__truediv__": "div", "__radd__": "add", "__rmul__": "mul"},
    **{f"__i{name}__": f"{name}_" for name in ("add", "sub", "mul")},
    **{"__neg__": "neg", "__abs__": "abs", "__pow__": "pow"},
}
#: The modules whose calls a mode sees as it sees those of the program.
_LAYERS = ("ferrograd.torch.nn.modules.", "ferrograd._layers.function_layer")
#: Attributes that are tensors like the one that has them.
_VIEWS = ("T", "H", "mT", "mH", "real", "imag", "data")
#: The names of those attributes, by the objects whose ``__get__`` gives them.
views: dict[Any, str] = {}


class _State(threading.local):
    """The state of a thread: the contexts in which nobody is asked, and the modes from the outermost one on."""

    off = 0

    def __init__(self) -> None:
        self.modes: list[Any] = []


_state = _State()
#: The subclasses that answer.
_classes: set[type] = set()
_wrapped: dict[int, Any] = {}
#: The methods of all tensors that ask who answers, because a subclass has one of its own.
_asking_methods: set[str] = set()
_is_armed = False
_modes_on = 0


def disabled_impl(func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
    """What a class writes as ``__torch_function__`` whose functions give plain tensors."""
    with nobody():
        return func(*args, **(kwargs or {}))


def default(cls: Any, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
    """The ``__torch_function__`` of tensors: tensors among the results become those of the subclass."""
    if not all(issubclass(cls, kind) for kind in types):
        return NotImplemented
    with nobody():
        result = func(*args, **(kwargs or {}))
    return convert(result, cls)


def convert(result: Any, cls: Any) -> Any:
    """A result with the tensors in it as those of a subclass."""
    if cls is TorchTensor:
        return result
    if isinstance(result, TorchTensor):
        return result if isinstance(result, cls) else result.as_subclass(cls)
    if isinstance(result, (list, tuple)):
        parts = [convert(part, cls) for part in result]
        return type(result)(*parts) if hasattr(result, "_fields") else type(result)(parts)
    if isinstance(result, Iterator):
        return (convert(part, cls) for part in result)
    return result


@contextmanager
def nobody() -> Iterator[None]:
    """A context in which functions compute without asking."""
    _state.off += 1
    try:
        yield
    finally:
        _state.off -= 1


def modes() -> list[Any]:
    """The modes of this thread that are asked now, from the outermost one on."""
    return [] if _state.off else _state.modes


def answers(x: object) -> bool:
    """Whether a tensor is one of a subclass that answers for functions, on this thread and now."""
    return not _state.off and type(x) in _classes


def subclass(cls: Any) -> None:
    """Lets a new subclass of the tensors answer for functions, unless it says that it does not."""
    if cls.__module__.partition(".")[0] == "ferrograd" or _impl(cls) is disabled_impl:
        return
    _arm()
    _classes.add(cls)
    for name in _methods():
        if name in vars(cls):
            _let_super_ask(name)
            continue
        owner = next(kind for kind in cls.__mro__ if name in vars(kind))
        if owner in (TorchTensor, *TorchTensor.__bases__):
            setattr(cls, name, _method(name, getattr(TorchTensor, name)))
    for name in _VIEWS:
        if name not in vars(cls):
            setattr(cls, name, _view(name))


def answer(cls: type) -> None:
    """Lets objects of a class that are no tensors answer for functions of torch."""
    if cls not in _classes:
        _arm()
        _classes.add(cls)


def public(function: Any) -> Any:
    """The function that asks, of one that is called where nobody answers; any other function itself."""
    return _wrapped.get(id(function), function)


def _impl(cls: Any) -> Any:
    found = getattr(cls, "__torch_function__", None)
    return getattr(found, "__func__", found)


def _methods() -> list[str]:
    return [name for name in dir(TorchTensor) if name not in _OWN and callable(getattr(TorchTensor, name))]


def _method(name: str, function: Any) -> Any:
    """A method that asks who answers for it. Those who answer for ``x + y`` are asked for ``torch.Tensor.add``."""
    public = getattr(TorchTensor, OPERATORS[name]) if name in OPERATORS else function

    @functools.wraps(function)
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        if _state.off or not (_state.modes or _has((self, *args))):
            return function(self, *args, **kwargs)
        if public is function:
            return ask(function, (self, *args), kwargs)
        try:
            return ask(public, (self, *args), kwargs)
        except TypeError:
            return NotImplemented

    return method


def _let_super_ask(name: str) -> None:
    """Lets a method of the tensors ask that a subclass overrides, which calls it by ``super()``."""
    plain = getattr(TorchTensor, name)
    if name in _asking_methods:
        return
    if name in OPERATORS:
        method = _method(name, plain)
    else:

        @functools.wraps(plain)
        def method(self: Any, *args: Any, **kwargs: Any) -> Any:
            return ask(method, (self, *args), kwargs) if answers(self) else plain(self, *args, **kwargs)

    _asking_methods.add(name)
    setattr(TorchTensor, name, method)


def _view(name: str) -> property:
    attribute = getattr(TorchTensor, name)
    views[attribute], plain = name, attribute.__get__

    def view(self: Any) -> Any:
        return plain(self) if _state.off else ask(plain, (self,), {})

    return property(view, getattr(attribute, "__set__", None))


def _arm() -> None:
    """Wraps the functions of torch."""
    global _is_armed
    if _is_armed:
        return
    _is_armed = True
    TorchTensor.__torch_function__ = classmethod(default)  # type: ignore[attr-defined]
    for space in (f"ferrograd.torch{name}" for name in _SPACES):
        module = sys.modules.get(space) or import_module(space)
        _let_ask(module, vars(module), space, True)
    # Distributions draw with these. They ask arguments alone: a mode sees what the program calls.
    draws = import_module("ferrograd._distributions._draws")
    _let_ask(draws, draws.__all__, draws.__name__, False)
    _core.let_ask(False)


def _let_ask(module: Any, names: Iterable[str], space: str, asks_modes: bool) -> None:
    """Makes functions of a namespace ask who answers for them."""
    for name in list(names):
        function = getattr(module, name)
        if isinstance(function, (FunctionType, BuiltinFunctionType)) and _asks(module, name, function):
            setattr(module, name, _function(function, space, asks_modes))


def _asks(module: Any, name: str, function: Any) -> bool:
    own = getattr(module, "__all__", ())
    return name in own and name not in _LEFT_OUT and not name.startswith(("set_", "get_", "is_", "_"))


def _function(function: Any, space: str, asks_modes: bool) -> Any:
    """The function that asks who answers for it, in a namespace.

    It stays the same object, so what was imported before asks too, and pickles know it.
    """
    if id(function) in _wrapped:
        return _wrapped[id(function)]
    if getattr(function, "__module__", "").startswith("ferrograd._core.torch"):
        # The core asks by itself.
        asking: Any = function
    elif isinstance(function, FunctionType):
        asking = function
        _asks_first(function, asks_modes)
    else:
        asking = _asking(lambda: asking, function, asks_modes)
        asking.__module__ = space
    # A function that is replaced is kept by its replacement, so that no other object gets its id.
    _wrapped[id(function)] = _wrapped[id(asking)] = asking
    return asking


def _asking(public: Callable[[], Any], function: Callable[..., Any], asks_modes: bool) -> Any:
    """A function that computes as another one where nobody answers for the public one."""

    @functools.wraps(function)
    def asking(*args: Any, **kwargs: Any) -> Any:
        if not _state.off and ((_modes_on and asks_modes) or _has(args) or (kwargs and _has(kwargs.values()))):
            return ask(public(), args, kwargs)
        return function(*args, **kwargs)

    return asking


def _asks_first(function: FunctionType, asks_modes: bool) -> None:
    """Gives a function the code that asks, and its old code to another function, which computes."""
    code = function.__code__
    plain = FunctionType(code, function.__globals__, function.__name__, function.__defaults__, function.__closure__)
    plain.__kwdefaults__ = function.__kwdefaults__
    plain.__annotations__ = function.__annotations__
    plain.__dict__.update(function.__dict__)
    asking = _asking(lambda: function, plain, asks_modes)
    constants = tuple(asking if x == _CALLED else x for x in _call.__code__.co_consts)
    # A function keeps the number of its free variables.
    function.__code__ = _call.__code__.replace(co_consts=constants, co_freevars=code.co_freevars, co_name=code.co_name)
    function.__dict__["__wrapped__"] = plain


def _call(*args: Any, **kwargs: Any) -> Any:
    called: Any = "what is called"
    return called(*args, **kwargs)


#: The constant of :func:`_call` that a function replaces.
_CALLED = "what is called"


def _has(args: Iterable[Any]) -> bool:
    """Whether an argument answers, or an item of a list among them."""
    return any(type(x) in _classes or (isinstance(x, (list, tuple)) and _has(x)) for x in args)


def _answering(args: Iterable[Any], found: dict[type, Any]) -> None:
    """Notes the arguments that answer, one of each class."""
    for x in args:
        if isinstance(x, (list, tuple)):
            _answering(x, found)
        elif type(x) in _classes:
            found.setdefault(type(x), x)


def asked(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The result of a function of the core that somebody answers for; NotImplemented where nobody does.

    Functions and distributions compute with these: a mode sees what the program calls, and its layers.
    """
    if _state.off:
        return NotImplemented
    if _has(args) or (kwargs and _has(kwargs.values())):
        return ask(function, args, kwargs)
    if _state.modes:
        caller = sys._getframe(1).f_globals.get("__name__", "")
        is_layer = caller.startswith(_LAYERS) and any(isinstance(x, TorchTensor) for x in args)
        if is_layer or not caller.startswith("ferrograd."):
            return ask(function, args, kwargs)
    return NotImplemented


def ask(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The result of a function: a mode's, or that of the first argument that answers; subclasses come first.

    Raises:
        TypeError: none of those who are asked answers.
    """
    if _state.modes:
        mode = _state.modes.pop()
        try:
            return mode.__torch_function__(function, _kinds(args, kwargs), args, kwargs)
        finally:
            _state.modes.append(mode)
    found: dict[type, Any] = {}
    _answering((*args, *kwargs.values()), found)
    if not found:
        with nobody():
            return function(*args, **kwargs)
    kinds = tuple(found)
    for kind in sorted(found, key=lambda kind: -len(kind.__mro__)):
        result = found[kind].__torch_function__(function, kinds, args, kwargs)
        if result is not NotImplemented:
            return result
    name = getattr(function, "__name__", repr(function))
    raise TypeError(f"no implementation found for {name} on types that implement __torch_function__: {list(kinds)}")


def _kinds(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[type, ...]:
    found: dict[type, Any] = {}
    _answering((*args, *kwargs.values()), found)
    return tuple(found)


#: The methods of all tensors while no mode is on.
_plain: dict[str, Any] = {}


def enter(mode: Any) -> None:
    """Lets a mode see each call of a function on this thread."""
    global _modes_on
    _arm()
    if not _modes_on:
        for name in _methods():
            _plain[name] = vars(TorchTensor).get(name)
        for name, function in [(name, getattr(TorchTensor, name)) for name in _plain]:
            setattr(TorchTensor, name, _method(name, function))
        for name in _VIEWS:
            _plain[name] = vars(TorchTensor).get(name)
            setattr(TorchTensor, name, _view(name))
    _modes_on += 1
    _state.modes.append(mode)
    _core.let_ask(True)


def leave(mode: Any) -> None:
    """Ends a mode."""
    global _modes_on
    _state.modes.remove(mode)
    _modes_on -= 1
    if not _modes_on:
        _core.let_ask(False)
        for name, method in _plain.items():
            if method is None:
                delattr(TorchTensor, name)
            else:
                setattr(TorchTensor, name, method)
        _plain.clear()
