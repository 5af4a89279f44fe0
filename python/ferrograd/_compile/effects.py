"""Whether code does nothing but compute: then it does not matter whether it runs in each call."""

from __future__ import annotations

import builtins
import math
import operator
import sys
import types
from collections.abc import Iterator
from typing import Any

from ferrograd._compile.bytecode import names
from ferrograd._compile.dependencies import Names, value_at
from ferrograd._core import Tensor
from ferrograd._layers.module import BaseModule

#: Builtin functions that only compute, besides classes.
_BUILTINS = names(
    """
    abs all any bin callable chr divmod format getattr hasattr hash hex id isinstance issubclass iter len max min next
    oct ord pow repr round sorted sum
    """
)
#: Methods of builtin containers and strings that only compute.
_METHODS = names("get keys values items index count format join split startswith endswith lower upper")
#: The modules whose functions only compute, except for functions whose names begin so.
_NAMESPACES = tuple(
    "ferrograd" + below
    for below in ("", ".func", ".linalg", ".torch", ".torch.nn.functional", ".paddle", ".paddle.nn.functional")
)
_NOT_PURE = (
    "set_",
    "save",
    "load",
    "seed",
    "manual_seed",
    "print",
    "debug",
    "compile",
    "register",
    "import",
    "install",
)
_PURE_MODULES = frozenset({"ferrograd", "math", "operator", "itertools"})


def only_computes(known: Names) -> bool:
    """Whether the code that was searched can have no effects except on tensors."""
    frames = known.frames()
    if any(frame.has_effects for frame in frames):
        return False
    defined = {frame.code.co_name for frame in frames} | known.submodules
    methods = {name for frame in frames for name in frame.methods}
    called = {name for frame in frames for name in frame.builtins}
    return (
        all(name in defined or name in _METHODS or _is_pure_name(name) for name in methods)
        and all(name in _BUILTINS or isinstance(getattr(builtins, name, None), type) for name in called)
        and all(_is_pure(value, known) for value in _called(known))
    )


def calls_generator(known: Names) -> bool:
    """Whether a method that the code calls is named as one of the generators of random numbers of Python or NumPy."""
    modules = [sys.modules[name] for name in ("random", "numpy.random") if name in sys.modules]
    return any(hasattr(module, name) for frame in known.frames() for name in frame.methods for module in modules)


def _called(known: Names) -> Iterator[Any]:
    """What the code calls by the name of a variable."""
    return (value_at(place) for place in list(known.places) if known.is_called(place))


def _is_pure(value: Any, known: Names) -> bool:
    """Whether a call of a variable only computes, as far as its own code goes."""
    if isinstance(value, types.MethodType):
        value = value.__func__
    if isinstance(value, types.FunctionType) and known.has_frame(value):
        return True
    if isinstance(value, BaseModule):
        return True
    module = getattr(value, "__module__", None)
    if not isinstance(module, str) or not callable(value):
        return False
    name = getattr(value, "__name__", "")
    return module.partition(".")[0] in _PURE_MODULES and not name.startswith(_NOT_PURE)


def _is_pure_name(name: str) -> bool:
    """Whether a function of this name belongs to tensors or lies in a namespace of ops."""
    if name.startswith(_NOT_PURE):
        return False
    modules = (sys.modules[path] for path in _NAMESPACES if path in sys.modules)
    return hasattr(Tensor, name) or any(name in vars(space) for space in (math, operator, *modules))
