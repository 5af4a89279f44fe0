"""``torch.ops``: the ops of aten, which are functions of torch or methods of its tensors, and of ``torch.library``."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import PurePath
from typing import Any, NoReturn

from ferrograd._core import FerrogradError
from ferrograd._kit import public as _public
from ferrograd.torch._base import overriding
from ferrograd.torch._tensor import Tensor
from ferrograd.torch.overrides import handle_torch_function, has_torch_function_unary

__all__ = ["OpOverload", "OpOverloadPacket", "aten", "profiler"]


class _Called(threading.local):
    """The function of torch that a thread has called an op by, while a mode sees it."""

    function: Callable[..., Any] | None = None


class OpOverload:
    """An op for one list of types of arguments, such as ``torch.ops.aten.add.Tensor``. It takes any arguments."""

    def __init__(self, packet: OpOverloadPacket, overload: str) -> None:
        self.overloadpacket = packet
        self._overloadname = overload
        self.__name__ = f"{packet.__name__}.{overload}"
        self._called = _Called()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The result of the op."""
        if overriding.modes():
            return overriding.ask(self, args, kwargs)
        return (self._called.function or self.overloadpacket._function)(*args, **kwargs)

    @contextmanager
    def calling(self, function: Callable[..., Any]) -> Iterator[None]:
        """A context in which this op is the function of torch that the program has called, with its parameters."""
        before, self._called.function = self._called.function, function
        try:
            yield
        finally:
            self._called.function = before

    def name(self) -> str:
        """The name of the op with its namespace."""
        kind = "" if self._overloadname == "default" else f".{self._overloadname}"
        return f"{self.overloadpacket._namespace}::{self.overloadpacket.__name__}{kind}"

    def __str__(self) -> str:
        return f"{self.overloadpacket}.{self._overloadname}"

    def __repr__(self) -> str:
        packet = self.overloadpacket
        return f"<OpOverload(op='{packet._namespace}.{packet.__name__}', overload='{self._overloadname}')>"


class OpOverloadPacket:
    """An op of aten. Its attributes, such as ``default`` and ``Tensor``, are the op for one list of types."""

    def __init__(self, name: str, function: Callable[..., Any], namespace: str = "aten") -> None:
        self.__name__ = name
        self._function = function
        self._namespace = namespace

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The result of the op."""
        if overriding.modes():
            return self.default(*args, **kwargs)
        return self._function(*args, **kwargs)

    def __getattr__(self, overload: str) -> OpOverload:
        if overload.startswith("__"):
            raise AttributeError(overload)
        found = OpOverload(self, overload)
        setattr(self, overload, found)
        return found

    def __str__(self) -> str:
        return f"{self._namespace}.{self.__name__}"

    def __repr__(self) -> str:
        return f"<OpOverloadPacket(op='{self._namespace}.{self.__name__}')>"


class _Aten:
    """The ops of PyTorch's tensor library, each made when asked for. Calling one that is not here raises."""

    def __getattr__(self, name: str) -> OpOverloadPacket:
        if name.startswith("__"):
            raise AttributeError(name)
        # The last one has what PyTorch has in this place alone.
        places: tuple[Any, ...] = (
            import_module("ferrograd.torch"),
            Tensor,
            import_module("ferrograd.torch.nn._functional.convolutions"),
        )
        known = (getattr(place, name, None) for place in places)
        functions = [f for f in known if callable(f) and not isinstance(f, type)]
        found = OpOverloadPacket(name, functions[0] if functions else _OWN.get(name) or _missing(name))
        setattr(self, name, found)
        return found


def _index(self: Tensor, indices: Any) -> Any:
    """The elements at the indices of each axis, where None stands for all of an axis."""
    return self[tuple(slice(None) if index is None else index for index in indices)]


#: Functions that PyTorch has as ops alone.
_OWN: dict[str, Callable[..., Any]] = {"index": _index}


def _missing(name: str) -> Callable[..., Any]:
    def refuse(*args: Any, **kwargs: Any) -> NoReturn:
        raise FerrogradError(f"torch.ops.aten.{name}: neither torch nor its tensors have a function of this name here")

    return refuse


#: ``torch.ops.aten.add(x, y)`` and ``torch.ops.aten.add.Tensor(x, y)`` are ``torch.add(x, y)``.
aten = _Aten()


#: The paths of the libraries of ops that have been loaded.
loaded_libraries: set[str] = set()


def load_library(path: Any) -> None:
    """Defines the ops of a compiled library if they are here in Python, which those of torchvision on boxes are.

    Raises:
        OSError: they are not, as for a file that is not there. Compiled ops are made for PyTorch's own tensors.
    """
    file = PurePath(path)
    if file.parent.name != "torchvision" or file.name.partition(".")[0] not in ("_C", "_C_stable"):
        raise OSError(
            f"torch.ops.load_library: {path} is compiled for PyTorch; torch.library.custom_op defines ops in Python"
        )
    import_module("ferrograd.torch._base.vision_ops").define()
    loaded_libraries.add(str(path))


#: The ops of namespaces that have been asked for, by their names.
_packets: dict[str, OpOverloadPacket] = {}


class _Namespace:
    """The ops that :func:`torch.library.custom_op` has defined under one namespace."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> OpOverloadPacket:
        op = import_module("ferrograd.torch.library")._ops.get(f"{self._name}::{name}")
        if op is None:
            raise AttributeError(f"torch.ops.{self._name} has no op {name!r}: torch.library.custom_op defines one")
        key = f"{self._name}::{name}"
        if key not in _packets or _packets[key]._function is not op:
            _packets[key] = OpOverloadPacket(name, op, self._name)
        return _packets[key]


class _Profiler(_Namespace):
    """The ops that begin and end a region of :class:`torch.profiler.record_function`."""

    def _record_function_enter(self, name: str, args: str | None = None) -> Any:
        """Begins a region; returns what ends it."""
        return import_module("ferrograd.torch.autograd.profiler").record_function(name, args).__enter__()

    _record_function_enter_new = _record_function_enter

    def _record_function_exit(self, handle: Any) -> None:
        """Ends a region."""
        if has_torch_function_unary(handle):
            handle_torch_function(profiler._record_function_exit, (handle,), handle)
        else:
            handle.__exit__()


profiler = _Profiler("profiler")


def __getattr__(name: str) -> _Namespace:
    if name.startswith("__"):
        raise AttributeError(f"module 'ferrograd.torch.ops' has no attribute {name!r}")
    return _Namespace(name)


__dir__ = _public.names(globals())
