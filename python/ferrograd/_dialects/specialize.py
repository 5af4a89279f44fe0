"""Functions made from one definition: the same signature with another first argument, name and documentation."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Concatenate, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")


def specialize(
    name: str, doc: str | None, f: Callable[Concatenate[T, P], R], first: T, **defaults: Any
) -> Callable[P, R]:
    """A function with ``name`` and ``doc`` that calls ``f`` with ``first`` and its own arguments.

    Its signature is that of ``f`` without the first parameter. ``defaults`` are the defaults it shows for parameters
    whose value in ``f`` means the same.
    """

    def function(*args: P.args, **kwargs: P.kwargs) -> R:
        return f(first, *args, **kwargs)

    signature = inspect.signature(f)
    parameters = list(signature.parameters.values())[1:]
    shown = [p.replace(default=defaults.get(p.name, p.default)) for p in parameters]
    function.__signature__ = signature.replace(parameters=shown)  # type: ignore[attr-defined]
    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc
    function.__module__ = f.__module__
    return function


@dataclass(frozen=True)
class Dimension:
    """The differences between functions for one, two and three spatial axes."""

    #: The number of spatial axes.
    ndim: int
    #: The arrays with that many: ``"images"``.
    items: str
    #: The names of the axes.
    axes: str
    #: Paddle's default order of axes: ``"NCHW"``.
    data_format: str


DIMENSIONS = (
    Dimension(1, "sequences", "length", "NCL"),
    Dimension(2, "images", "height, width", "NCHW"),
    Dimension(3, "volumes", "depth, height, width", "NCDHW"),
)


def for_dimension(name: str, ndim: int, f: Callable[Concatenate[Dimension, P], R]) -> Callable[P, R]:
    """``f`` for ``ndim`` spatial axes. ``name`` and the documentation of ``f`` may use the fields of ``Dimension``."""
    dimension = DIMENSIONS[ndim - 1]
    fields = vars(dimension)
    doc = (f.__doc__ or "").format(**fields)
    return specialize(name.format(**fields), doc, f, dimension, data_format=dimension.data_format)
