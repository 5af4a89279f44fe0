"""``torch.jit``: Python runs as it is.

``script`` and ``trace`` return what they are given; what needs a compiled program raises.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, NoReturn, TypeVar

from ferrograd import _public
from ferrograd._core import FerrogradError
from ferrograd.torch.futures import Future
from ferrograd.torch.nn.modules.module import Module

__all__ = [
    "Final",
    "Future",
    "ScriptFunction",
    "ScriptModule",
    "annotate",
    "export",
    "fork",
    "freeze",
    "ignore",
    "is_scripting",
    "is_tracing",
    "load",
    "optimize_for_inference",
    "save",
    "script",
    "script_if_tracing",
    "trace",
    "trace_module",
    "unused",
    "wait",
]

from typing import Final

T = TypeVar("T")


def script(obj: T, *args: Any, **kwargs: Any) -> T:
    """The function, class or module itself, with a warning: it runs as Python.

    >>> import warnings, ferrograd.torch as torch
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     double = torch.jit.script(lambda x: x * 2)
    >>> double(torch.ones(1)).item()
    2.0
    """
    warnings.warn("torch.jit.script: there is no TorchScript here; the program runs as Python", stacklevel=2)
    return obj


def script_if_tracing(fn: T) -> T:
    """The function itself."""
    return fn


def export(fn: T) -> T:
    """The function itself."""
    return fn


def ignore(drop: Any = False, **kwargs: Any) -> Any:
    """The function itself; with options, a decorator that returns it."""
    return drop if callable(drop) else lambda fn: fn


def unused(fn: T) -> T:
    """The function itself."""
    return fn


def annotate(the_type: Any, the_value: T) -> T:
    """The value itself."""
    return the_value


def fork(func: Callable[..., T], *args: Any, **kwargs: Any) -> Future[T]:
    """A future with the result of the function, which is called here and now.

    >>> import ferrograd.torch as torch
    >>> future = torch.jit.fork(torch.add, torch.ones(1), 2)
    >>> torch.jit.wait(future).item()
    3.0
    """
    found: Future[T] = Future()
    found.set_result(func(*args, **kwargs))
    return found


def wait(future: Future[T]) -> T:
    """The result of a future."""
    if not isinstance(future, Future):
        raise TypeError(f"wait: a Future is wanted, not {type(future).__name__}")
    return future.wait()


def _overload(fn: T) -> T:
    """The function itself."""
    return fn


_overload_method = _overload


def optimize_for_inference(mod: T, other_methods: Any = None) -> T:
    """The module itself."""
    return mod


def freeze(mod: T, preserved_attrs: Any = None, optimize_numerics: bool = True) -> T:
    """The module itself."""
    return mod


def is_scripting() -> bool:
    """False: Python runs."""
    return False


def is_tracing() -> bool:
    """False: Python runs."""
    return False


def _refuse(function: str) -> NoReturn:
    raise FerrogradError(
        f"torch.jit.{function}: there is no TorchScript here. Call the function or module itself, and keep the numbers "
        "of a module with torch.save(module.state_dict(), file)"
    )


def trace(func: T, example_inputs: Any = None, *args: Any, **kwargs: Any) -> T:
    """The function or module itself, with a warning: it runs as Python, so what it decides by values is not fixed.

    >>> import warnings, ferrograd.torch as torch
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     double = torch.jit.trace(lambda x: x * 2, torch.ones(1))
    >>> double(torch.ones(2)).tolist()
    [2.0, 2.0]
    """
    warnings.warn("torch.jit.trace: there is no TorchScript here; the program runs as Python", stacklevel=2)
    return func


def trace_module(mod: T, inputs: Any = None, *args: Any, **kwargs: Any) -> T:
    """The module itself, with a warning: see :func:`trace`."""
    warnings.warn("torch.jit.trace_module: there is no TorchScript here; the program runs as Python", stacklevel=2)
    return mod


class ScriptModule(Module):
    """The class of modules of TorchScript. No module here is one."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        _refuse("ScriptModule")


class ScriptFunction:
    """The class of functions of TorchScript. No function here is one."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        _refuse("ScriptFunction")


def save(m: Any, f: Any, _extra_files: Any = None) -> NoReturn:
    """Raises: there are no compiled programs."""
    _refuse("save")


def load(f: Any, map_location: Any = None, _extra_files: Any = None) -> NoReturn:
    """Raises: there are no compiled programs."""
    _refuse("load")


__dir__ = _public.names(globals())
