"""``torch.compiler`` and ``torch.compile``."""

from __future__ import annotations

import functools
import types
from collections.abc import Callable
from contextlib import ContextDecorator
from typing import Any, TypeVar, overload

from ferrograd._kit import public as _public

__all__ = [
    "allow_in_graph",
    "assume_constant_result",
    "compile",
    "cudagraph_mark_step_begin",
    "disable",
    "is_compiling",
    "is_dynamo_compiling",
    "is_exporting",
    "list_backends",
    "reset",
    "set_stance",
]

from ferrograd import _compile, _core
from ferrograd.torch.nn.modules.module import Module

T = TypeVar("T")
C = TypeVar("C", bound=Callable[..., Any])


class OptimizedModule(Module):
    """A module that is compiled. The module itself is its submodule ``_orig_mod``.

    It has the attributes of the module, and those of a :class:`ferrograd.CompiledFunction` that tell what became of its
    traces: ``explain``, ``graph``, ``cache_info``, ``cache_clear`` and ``save``.
    """

    def __init__(self, module: Module, fullgraph: bool) -> None:
        super().__init__()
        self._orig_mod = module
        object.__setattr__(self, "_compiled", _compile.compile(module, fullgraph=fullgraph))
        self.training = module.training

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """The result of the module."""
        return self._compiled(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        if name == "_orig_mod":
            return super().__getattr__(name)
        if name in ("explain", "graph", "cache_info", "cache_clear", "save") and not hasattr(self._orig_mod, name):
            return getattr(self._compiled, name)
        return getattr(self._orig_mod, name)


@overload
def compile(model: C, **options: Any) -> C: ...
@overload
def compile(model: None = ..., **options: Any) -> Callable[[C], C]: ...
def compile(  # type: ignore[misc]
    model: Any = None,
    *,
    fullgraph: bool = False,
    dynamic: bool | None = None,
    backend: Any = "inductor",
    mode: str | None = None,
    options: Any = None,
    disable: bool = False,
) -> Any:
    """The function or module, traced at its first call and run without Python afterwards: see
    :func:`ferrograd.compile`. Without a function, a decorator. Results have the bits of the function itself.

    With ``fullgraph`` a function that cannot be traced is an error; otherwise it runs as it is, with a warning. With
    ``disable`` it is returned as it is. There is one compiler, so ``backend``, ``mode``, ``options`` and ``dynamic``
    change nothing.

    >>> import ferrograd.torch as torch
    >>> f = torch.compile(lambda x: x + 1)
    >>> f(torch.ones(1)).item()
    2.0
    """
    if disable:
        return (lambda model: model) if model is None else model
    if model is None:
        return lambda model: compile(model, fullgraph=fullgraph)
    return (
        OptimizedModule(model, fullgraph) if isinstance(model, Module) else _compile.compile(model, fullgraph=fullgraph)
    )


def disable(fn: Any = None, recursive: bool = True, *, reason: str | None = None) -> Any:
    """The function, kept out of programs: a compiled function that calls it runs as it is, with a warning.

    Without a function, a decorator. A module or a class is returned as it is, so that it is traced.
    """
    if fn is None:
        return disable
    if not isinstance(fn, (types.FunctionType, types.MethodType)):
        return fn

    @functools.wraps(fn)
    def disabled(*args: Any, **kwargs: Any) -> Any:
        _core.give_up_trace(f"it calls {fn.__name__}, which torch.compiler.disable keeps out of programs")
        return fn(*args, **kwargs)

    return disabled


def allow_in_graph(fn: Callable[..., T]) -> Callable[..., T]:
    """The function itself."""
    return fn


def assume_constant_result(fn: Callable[..., T]) -> Callable[..., T]:
    """The function itself."""
    return fn


def cudagraph_mark_step_begin() -> None:
    """Does nothing: there is no GPU."""


def list_backends(exclude_tags: Any = ()) -> list[str]:
    """The names of compilers: there is one."""
    return ["inductor"]


class set_stance(ContextDecorator):
    """When compiled functions are traced and when they run as they are. It changes nothing: the results are the same.

    It is called, or used as a context or decorator.

    Raises:
        ValueError: a stance that torch does not have.

    >>> import ferrograd.torch as torch
    >>> f = torch.compile(lambda x: x + 1)
    >>> with torch.compiler.set_stance("force_eager"):
    ...     f(torch.ones(1)).item()
    2.0
    """

    _STANCES = ("default", "eager_on_recompile", "eager_then_compile", "fail_on_recompile", "force_eager")

    def __init__(self, stance: str = "default", *, skip_guard_eval_unsafe: bool = False, force_backend: Any = None):
        if stance not in self._STANCES:
            raise ValueError(f"set_stance: {stance!r} is not among {', '.join(self._STANCES)}")

    def __enter__(self) -> set_stance:
        return self

    def __exit__(self, *exception: object) -> None:
        pass


def reset() -> None:
    """Forgets the programs of all compiled functions."""
    _compile.forget()


def is_compiling() -> bool:
    """Whether the running function is being traced."""
    return bool(_core.is_tracing())


is_dynamo_compiling = is_compiling


def is_exporting() -> bool:
    """False: there is no export."""
    return False


__dir__ = _public.names(globals())
