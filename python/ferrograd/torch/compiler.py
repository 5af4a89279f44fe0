"""``torch.compiler``: programs run as Python, so there is nothing to switch off."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, TypeVar

__all__ = ["allow_in_graph", "compile", "disable", "is_compiling", "is_dynamo_compiling", "reset"]

T = TypeVar("T")


def compile(
    model: Any = None,
    *,
    fullgraph: bool = False,
    dynamic: bool | None = None,
    backend: Any = "inductor",
    mode: str | None = None,
    options: Any = None,
    disable: bool = False,
) -> Any:
    """The function or module itself, with a warning: it runs as it did. Without one, a decorator.

    >>> import ferrograd.torch as torch
    >>> f = torch.compile(lambda x: x + 1, disable=True)
    >>> f(torch.ones(1)).item()
    2.0
    """
    if not disable:
        warnings.warn("torch.compile: the program is not compiled here; it runs operation by operation", stacklevel=2)
    return (lambda model: model) if model is None else model


def disable(fn: Any = None, recursive: bool = True, *, reason: str | None = None) -> Any:
    """The function itself, or a decorator that returns it."""
    return (lambda fn: fn) if fn is None else fn


def allow_in_graph(fn: Callable[..., T]) -> Callable[..., T]:
    """The function itself."""
    return fn


def reset() -> None:
    """Does nothing: nothing is compiled."""


def is_compiling() -> bool:
    """False: programs run as Python."""
    return False


def is_dynamo_compiling() -> bool:
    """False: programs run as Python."""
    return False
