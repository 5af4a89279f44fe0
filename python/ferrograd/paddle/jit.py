"""``paddle.jit``: functions and layers that are traced once and run without Python afterwards."""

from __future__ import annotations

from typing import Any, NoReturn, TypeVar

from ferrograd import _compile, _public
from ferrograd._core import FerrogradError
from ferrograd.paddle.nn.layer.layers import Layer

__all__ = ["enable_to_static", "ignore_module", "load", "not_to_static", "save", "to_static"]

T = TypeVar("T")

_enabled = True


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

    With ``full_graph`` a function that cannot be traced is an error. The other options change nothing: each kind of
    arguments has its own trace.

    >>> import ferrograd.paddle as paddle
    >>> f = paddle.jit.to_static(lambda x: x * 2)
    >>> f(paddle.ones([1])).item()
    2.0
    """
    if function is None:
        return lambda function: to_static(function, full_graph=full_graph)
    if not _enabled or getattr(function, "_not_to_static", False):
        return function
    if isinstance(function, Layer):
        object.__setattr__(function, "forward", _compile.compile(function.forward, fullgraph=full_graph))
        return function
    return _compile.compile(function, fullgraph=full_graph)


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
    """Sets whether :func:`to_static` compiles what it is given from now on."""
    global _enabled
    _enabled = bool(enable_to_static_bool)


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
