"""``paddle.base.wrapped_decorator``."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable
from typing import Any

from ferrograd._kit import public as _public

__all__ = ["signature_safe_contextmanager", "wrap_decorator"]

Function = Callable[..., Any]


def wrap_decorator(decorator: Callable[[Function], Function]) -> Callable[[Function], Function]:
    """The decorator, whose results keep the name and signature of the decorated function."""

    @functools.wraps(decorator)
    def decorate(f: Function) -> Function:
        return functools.wraps(f)(decorator(f))

    return decorate


signature_safe_contextmanager = contextlib.contextmanager

__dir__ = _public.names(globals())
