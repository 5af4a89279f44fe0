"""``paddle.jit.api``: functions and layers that are traced once, and how they are kept."""

from __future__ import annotations

from typing import Any, NoReturn, TypeVar

from ferrograd._core import FerrogradError
from ferrograd._kit import public as _public
from ferrograd.paddle.base.compiler import BuildStrategy
from ferrograd.paddle.jit.dy2static.program_translator import ProgramTranslator, StaticFunction
from ferrograd.paddle.nn.layer.layers import Layer

__all__ = ["ProgramTranslator", "enable_to_static", "ignore_module", "load", "not_to_static", "save", "to_static"]

T = TypeVar("T")


def to_static(
    function: Any = None,
    input_spec: Any = None,
    build_strategy: Any = None,
    backend: Any = None,
    *,
    full_graph: bool = False,
    **kwargs: Any,
) -> Any:
    """The function, traced at its first call and run without Python afterwards: see :func:`ferrograd.compile`.

    Of a layer the ``forward`` is compiled, and the layer is returned. Without a function, a decorator.

    A function that cannot be traced, as one that asks for numbers, runs as it is, and a warning says so once. The
    options change no result: each kind of arguments has its own trace, and with ``full_graph`` each shape too.

    Raises:
        TypeError: ``build_strategy`` is no ``BuildStrategy``.

    >>> import ferrograd.paddle as paddle
    >>> f = paddle.jit.to_static(lambda x: x * 2)
    >>> f(paddle.ones([1])).item()
    2.0
    """
    if not isinstance(build_strategy, BuildStrategy | None):
        raise TypeError(f"to_static: build_strategy is a BuildStrategy, not {type(build_strategy).__name__}")
    if function is None:
        return lambda function: to_static(function, full_graph=full_graph)
    if getattr(function, "_not_to_static", False) or isinstance(function, StaticFunction):
        return function
    if isinstance(function, Layer):
        object.__setattr__(function, "forward", to_static(function.forward, full_graph=full_graph))
        return function
    return StaticFunction(function, fullgraph=full_graph)


def not_to_static(func: T | None = None) -> Any:
    """Marks a function that :func:`to_static` leaves as it is."""
    if func is None:
        return not_to_static
    if not callable(func):
        raise TypeError(f"not_to_static: a function is wanted, not {type(func).__name__}")
    func._not_to_static = True  # type: ignore[attr-defined]
    return func


def ignore_module(modules: list[Any]) -> None:
    """Does nothing: functions of every module are traced."""


def enable_to_static(enable_to_static_bool: bool) -> None:
    """Sets whether the functions of :func:`to_static` are compiled from now on, or run as they are."""
    if not isinstance(enable_to_static_bool, bool):
        raise TypeError(f"enable_to_static_bool is True or False, not {enable_to_static_bool!r:.60}")
    ProgramTranslator().enable(enable_to_static_bool)


def _refuse(function: str, instead: str) -> NoReturn:
    raise FerrogradError(
        f"paddle.jit.{function}: there are no static programs. Keep the numbers of a layer with {instead}; "
        "a compiled function is kept without its source by its method save and by ferrograd.load_compiled"
    )


def save(layer: Any, path: str, input_spec: Any = None, **configs: Any) -> NoReturn:
    """Raises FerrogradError: there are no static programs."""
    _refuse("save", "paddle.save(layer.state_dict(), file)")


def load(path: str, **configs: Any) -> NoReturn:
    """Raises FerrogradError: there are no static programs."""
    _refuse("load", "layer.set_state_dict(paddle.load(file))")


__dir__ = _public.names(globals())
