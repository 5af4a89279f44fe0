"""Adapts the functions that a dialect defines in Python: synonyms of parameters, methods, in-place forms."""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable, Iterable
from types import FunctionType, ModuleType
from typing import Any

from ferrograd import _core
from ferrograd._kit import arguments as _arguments
from ferrograd._kit.out import into

#: Groups of names that stand for one parameter.
SYNONYMS = (
    ("dim", "axis"),
    ("keepdim", "keepdims"),
    ("elements", "tensors", "tensor", "A", "x", "input"),
    ("test_elements", "test_x"),
    ("B", "other", "y"),
    ("split_size_or_sections", "split_size"),
    ("indices_or_sections", "num_or_indices", "indices", "sections", "tensor_indices_or_sections"),
    ("shape", "size"),
    ("label", "target"),
    ("epsilon", "eps"),
    ("stop", "end"),
    ("num", "steps"),
    ("value", "source"),
    ("sorted_sequence", "boundaries"),
)
#: Names of the first parameter of functions that become methods.
FIRST = ("x", "input", "arr", "tensor")
#: Functions of a tensor that are no methods.
FUNCTIONS_ONLY = {"frobenius_norm", "nuclear_norm"}
#: Functions with an in-place form that the core does not have.
IN_PLACE = {
    "addcdiv",
    "addcmul",
    "clamp_max",
    "clamp_min",
    "fill_diagonal_tensor",
    "floor_mod",
    "put",
}
IN_PLACE |= {"scale", "t"}
#: Functions whose in-place form may change the shape.
RESHAPING = {"as_strided", "reshape", "squeeze", "swapaxes", "swapdims", "t", "transpose", "unsqueeze", "view"}


def accept_synonyms(f: Callable[..., Any], answer: Callable[..., Any] | None = None) -> Callable[..., Any]:
    """The function, which also takes synonyms of its parameters as keywords, and ``out`` to write its result to.

    Where it raises, ``answer(function, args, kwargs)`` may give the result instead; it is NotImplemented if not.
    """
    own = inspect.signature(f).parameters
    others = {s: name for group in SYNONYMS for name in group if name in own for s in group if s not in own}
    if not others and next(iter(own), "") not in FIRST:
        return f

    @functools.wraps(f)
    def call(*args: Any, **kwargs: Any) -> Any:
        if "out" in kwargs and "out" not in own:
            return into(kwargs.pop("out"), call(*args, **kwargs))
        for name in others.keys() & kwargs.keys():
            if others[name] in kwargs:
                raise TypeError(f"{f.__name__}() got the argument '{others[name]}' under two names")
            kwargs[others[name]] = kwargs.pop(name)
        try:
            return f(*args, **kwargs)
        except Exception:
            if answer is None or (result := answer(call, args, kwargs)) is NotImplemented:
                raise
            return result

    return call


def is_within(skipped: int = 1) -> bool:
    """Whether the caller, or one further out, was called by a function of ``accept_synonyms``, which asks by itself."""
    frame = sys._getframe(skipped)
    while frame and frame.f_globals.get("__name__", "").startswith("ferrograd."):
        if frame.f_code.co_qualname == "accept_synonyms.<locals>.call":
            return True
        frame = frame.f_back  # type: ignore[assignment]
    return False


def in_place(cls: type, name: str, f: Callable[..., Any]) -> Callable[..., Any]:
    """The in-place form ``name_`` of a method of ``cls``: its result is written to the tensor."""

    def of_same_dtype(x: Any, *args: Any, **kwargs: Any) -> Any:
        made = f(x, *args, **kwargs)
        if made.dtype != x.dtype:
            raise _core.DtypeError(f"{name}_: a tensor keeps its dtype in place; {name}(dtype) gives another tensor")
        return made

    function = of_same_dtype if name == "view" else f

    @functools.wraps(f)
    def written(x: Any, /, *args: Any, **kwargs: Any) -> Any:
        return _core.overwrite(x, name, name in RESHAPING, function, args, kwargs)

    written.__name__ = f"{name}_"
    written.__qualname__ = f"{cls.__qualname__}.{name}_"
    written.__module__ = cls.__module__
    return written


def install_methods(
    cls: type,
    modules: Iterable[ModuleType],
    accept: Callable[..., Any] = accept_synonyms,
    in_place: Callable[..., Callable[..., Any]] = in_place,
) -> None:
    """Makes every public function whose first parameter is named as in FIRST a method, with its in-place form.

    ``accept`` is :func:`accept_synonyms`, or what a dialect has in its place. ``in_place`` makes that form of a
    method of ``cls`` with a name.
    """
    adapted: dict[FunctionType, Callable[..., Any]] = {}
    for module in modules:
        for name in module.__all__:
            f = getattr(module, name)
            if not isinstance(f, FunctionType):
                continue
            if f not in adapted:
                adapted[f] = f if hasattr(f, "__wrapped__") else accept(f)
            function = adapted[f]
            setattr(module, name, function)
            signature = inspect.signature(f)
            if next(iter(signature.parameters), "") in FIRST and name not in FUNCTIONS_ONLY:
                setattr(cls, name, function)
                if signature.return_annotation == "Tensor" and (name in IN_PLACE or hasattr(_core.Tensor, f"{name}_")):
                    setattr(cls, f"{name}_", in_place(cls, name, function))


def add_methods(cls: type, group: type, special: Iterable[str] = ()) -> None:
    """Makes what a class defines, and of its special methods those that are named, methods of ``cls``."""
    for name, value in vars(group).items():
        if not name.startswith("__") or name in special:
            setattr(cls, name, value)


def in_place_functions(module: str, cls: type, names: Iterable[str]) -> dict[str, Callable[..., Any]]:
    """The in-place forms of the methods with these names as functions of the module: ``exp_(x)`` is ``x.exp_()``."""
    names = [f"{name}_" for name in names if hasattr(cls, f"{name}_")]
    return {name: _as_function(module, name, getattr(cls, name)) for name in names}


def _as_function(module: str, name: str, method: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(method)
    def function(*args: Any, **kwargs: Any) -> Any:
        named = [name for name in FIRST if name in kwargs]
        x, *others = args or [kwargs.pop(named[0]) if named else None]
        return method(_arguments.tensor(x, method.__name__, "x"), *others, **kwargs)

    function.__module__ = module
    function.__name__ = function.__qualname__ = name
    return function
