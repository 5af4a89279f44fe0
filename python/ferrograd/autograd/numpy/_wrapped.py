"""NumPy's functions as they are inside of a derivative.

A function computes with NumPy unless an argument is a tensor or a list with one. Then it calls the function of
``ferrograd`` that answers for it: at once where the call has the simple form that the table of names describes, else by
NumPy's protocols.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np

from ferrograd._core import Tensor
from ferrograd._numpy.functions import SPECIAL
from ferrograd._numpy.protocol import _defaults, _parameters, native
from ferrograd._numpy.table import ARRAYS, FUNCTIONS, NO_DERIVATIVE, RENAMED, SAME, SEQUENCES
from ferrograd.autograd._values import constant, holds_tensor, plain
from ferrograd.autograd.tracer import notrace_primitive, primitive

#: The types of operands that need no conversion.
KNOWN = frozenset((Tensor, np.ndarray, float, int, bool, complex, np.float64, np.float32))
#: The functions that return shapes, dtypes and the like.
_ABOUT = frozenset(("ndim", "shape", "size", "iscomplexobj", "isrealobj", "result_type", "isscalar"))


def has_tensor(args: Any) -> bool:
    """Whether an argument is a tensor, or a list with one."""
    for a in args:
        kind = type(a)
        if kind is Tensor or ((kind is list or kind is tuple) and holds_tensor(a)):
            return True
    return False


def listed(value: Any) -> Any:
    """A list with tensors as one tensor; any other value as it is."""
    return constant(value) if type(value) in (list, tuple) and holds_tensor(value) else value


def _named(wrapped: Any, f: Any) -> Callable[..., Any]:
    found: Callable[..., Any] = functools.update_wrapper(wrapped, f)
    return found


def of_ufunc(f: np.ufunc) -> Callable[..., Any]:
    """A universal function. It keeps its methods, such as ``reduce``."""
    name = RENAMED.get(f.__name__, f.__name__ if f.__name__ in SAME else None)
    if name is None and f.__name__ != "divmod":
        return _with_methods(primitive(f), f)
    compute = native(name) if name else None

    def unary(x: Any, *rest: Any, **options: Any) -> Any:
        if type(x) is Tensor and not rest and not options:
            return compute(x)  # type: ignore[misc]
        return f(listed(x), *rest, **options)

    def nary(*args: Any, **options: Any) -> Any:
        if not has_tensor(args):
            return f(*args, **options)
        if compute is not None and not options and KNOWN.issuperset(map(type, args)):
            return compute(*args)
        return f(*map(listed, args), **options)

    return _with_methods(_named(unary if f.nin == 1 else nary, f), f)


def _with_methods(wrapped: Any, f: np.ufunc) -> Any:
    for method in ("reduce", "accumulate", "outer", "reduceat", "at", "nin", "nout"):
        setattr(wrapped, method, getattr(f, method))
    return wrapped


class _Direct:
    """The calls of a function that are calls of a function of ``ferrograd`` with the same arguments."""

    def __init__(self, f: Callable[..., Any], name: str) -> None:
        target, _, row = FUNCTIONS[name].partition(": ")
        first, named = _parameters(row)
        self.compute, self.first, self.named = native(target), len(first), dict(named)
        self.arrays = [i for i, parameter in enumerate(first) if parameter in ARRAYS]
        follows = list(_defaults(f, name))[self.first : self.first + 1]
        self.then_axis = follows == ["axis"] and "axis" in self.named
        self.never = name in SEQUENCES or name in ("cov", "corrcoef")

    def takes(self, args: tuple[Any, ...], options: dict[str, Any]) -> bool:
        """Whether the function has a call with these arguments."""
        extra = len(args) - self.first
        if self.never or extra < 0 or extra > self.then_axis or not options.keys() <= self.named.keys():
            return False
        if any(value is np._NoValue or (value is None and name != "axis") for name, value in options.items()):
            return False
        return all(type(args[i]) in KNOWN for i in self.arrays)

    def call(self, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
        """The result."""
        given = {self.named[name]: value for name, value in options.items()}
        if len(args) > self.first:
            given["axis"] = args[self.first]
        return self.compute(*args[: self.first], **given)


def of_function(f: Callable[..., Any], name: str) -> Callable[..., Any]:
    """A function for which one of ``ferrograd`` answers."""
    direct = _Direct(f, name) if name in FUNCTIONS else None
    is_unary = direct is not None and direct.first == 1 and not direct.never
    is_of_several = name in SEQUENCES or f in (np.block, np.select, np.einsum, np.meshgrid)

    def wrapped(*args: Any, **options: Any) -> Any:
        if is_unary and not options and len(args) == 1 and type(args[0]) is Tensor:
            return direct.compute(args[0])  # type: ignore[union-attr]
        if not has_tensor(args) and not has_tensor(options.values()):
            return f(*args, **options)
        if direct is not None and direct.takes(args, options):
            return direct.call(args, options)
        if is_of_several:
            return f(*args, **options)
        return f(*map(listed, args), **{key: listed(value) for key, value in options.items()})

    return _named(wrapped, f)


def of(f: Any, name: str) -> Any:
    """NumPy's ``f`` as it is in this package; ``name`` is its name below ``numpy``, such as ``linalg.inv``."""
    if isinstance(f, np.ufunc):
        return of_ufunc(f)
    if not callable(f) or inspect.isclass(f) or isinstance(f, ModuleType):
        return f
    if name in _ABOUT or name in NO_DERIVATIVE:
        return notrace_primitive(f)
    if name in FUNCTIONS or f in SPECIAL:
        return of_function(f, name)
    return primitive(f)


def namespace(module: ModuleType, own: dict[str, Any]) -> dict[str, Any]:
    """The public names of a module of NumPy's, as they are in this package; ``own`` are those defined here."""
    prefix = module.__name__.removeprefix("numpy").lstrip(".")
    wrapped: dict[int, Any] = {}
    found = {}
    for name in dir(module):
        # Some names of the top module warn, and its modules are imported where they are asked for.
        if name.startswith("_") or name in own or not hasattr(module, name):
            continue
        f = getattr(module, name)
        if isinstance(f, ModuleType):
            continue
        path = f"{prefix}.{name}" if prefix else name
        # One function under several names is one function here.
        found[name] = wrapped.setdefault(id(f), of(f, path)) if callable(f) else f
    return found


def values(f: Callable[..., Any]) -> Callable[..., Any]:
    """The function, which gets numbers in the place of tensors."""
    return lambda *args, **options: f(*map(plain, args), **{key: plain(value) for key, value in options.items()})
