"""What programs use of PyTorch's tracer by its private name: the functions of ``torch.compiler``, and switches."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

from ferrograd._compile.function import CompiledFunction
from ferrograd._kit import public as _public
from ferrograd.torch.compiler import (
    OptimizedModule,
    allow_in_graph,
    compile,
    disable,
    is_compiling,
    list_backends,
    reset,
)

__all__ = [
    "OptimizedModule",
    "allow_in_graph",
    "config",
    "disable",
    "explain",
    "is_compiling",
    "list_backends",
    "optimize",
    "reset",
]


class Switches(SimpleNamespace):
    """Settings that can be set and read, and change nothing."""

    @contextmanager
    def patch(self, changes: Any = None, **others: Any) -> Iterator[None]:
        """A context, or a decorator, in which settings have other values."""
        before = dict(vars(self))
        vars(self).update({changes: others.pop("value")} if isinstance(changes, str) else changes or {}, **others)
        try:
            yield
        finally:
            vars(self).clear()
            vars(self).update(before)


#: Switches of the tracer.
config = Switches(
    cache_size_limit=8,
    capture_scalar_outputs=False,
    error_on_recompile=False,
    recompile_limit=8,
    suppress_errors=False,
    verbose=False,
)


@dataclass
class ExplainOutput:
    """What became of one call of a function under ``torch.compile``."""

    #: The number of programs: one, or none where the call ran the function itself.
    graph_count: int
    #: The number of reasons to run the function itself.
    graph_break_count: int
    break_reasons: list[str]
    #: The number of ops of the program.
    op_count: int
    #: What ``explain`` of the compiled function says.
    text: str

    def __str__(self) -> str:
        return f"Graph Count: {self.graph_count}\nGraph Break Count: {self.graph_break_count}\n{self.text}"


def explain(f: Any, **options: Any) -> Callable[..., ExplainOutput]:
    """A function that calls ``torch.compile(f)`` with its arguments and tells what became of that call.

    >>> import ferrograd.torch as torch
    >>> torch._dynamo.explain(lambda x: x.sin() + 1)(torch.ones(3)).graph_break_count
    0
    """

    def explained(*args: Any, **kwargs: Any) -> ExplainOutput:
        plain = f._orig_mod if isinstance(f, OptimizedModule) else f._function if isinstance(f, CompiledFunction) else f
        compiled: Any = compile(plain, **options)
        compiled(*args, **kwargs)
        text = compiled.explain()
        ops = [int(n) for n in re.findall(r"^a program of (\d+) ops", text, re.MULTILINE)]
        reasons = re.findall(r"^not compiled: (.*)$", text, re.MULTILINE)
        return ExplainOutput(len(ops), len(reasons), reasons, sum(ops), text)

    return explained


def optimize(backend: Any = "inductor", *, nopython: bool = False, **options: Any) -> Any:
    """``torch.compile`` as a decorator; with ``nopython`` a function that cannot be traced is an error."""
    return compile(backend=backend, fullgraph=nopython)


def mark_dynamic(t: Any, index: Any = None, **bounds: Any) -> None:
    """Does nothing: a function is traced again for other shapes."""


mark_static = mark_static_address = maybe_mark_dynamic = mark_dynamic


def is_dynamo_supported() -> bool:
    """True: ``torch.compile`` traces functions."""
    return True


def is_compile_supported(device_type: Any) -> bool:
    """Whether ``torch.compile`` traces functions of a device: those of the CPU."""
    return str(device_type).partition(":")[0] == "cpu"


def graph_break() -> None:
    """Does nothing: a function is traced as a whole."""


__dir__ = _public.names(globals())
