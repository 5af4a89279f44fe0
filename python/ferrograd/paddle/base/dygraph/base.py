"""``paddle.base.dygraph.base``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from ferrograd._autograd.modes import no_grad
from ferrograd._kit import public as _public
from ferrograd.paddle._base.gradients import grad
from ferrograd.paddle._functions.predicates import StaticGraphError, in_declarative_mode, in_dynamic_mode as enabled
from ferrograd.paddle.fluid.dygraph import guard, to_variable

__all__ = [
    "enabled",
    "grad",
    "guard",
    "in_declarative_mode",
    "in_to_static_mode",
    "no_grad",
    "switch_to_static_graph",
    "to_variable",
]

in_to_static_mode = in_declarative_mode


def switch_to_static_graph(func: Callable[..., Any]) -> Callable[..., NoReturn]:
    """A function that raises where it is called, as ``func`` makes a static program."""

    def call(*args: Any, **kwargs: Any) -> NoReturn:
        raise StaticGraphError(f"{func.__name__}: this library has the dynamic graph only")

    return call


__dir__ = _public.names(globals())
