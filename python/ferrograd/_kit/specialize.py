"""Functions made from one definition: copies with other defaults, names and documentation."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from types import FunctionType
from typing import Any, ParamSpec, TypeVar, cast

P = ParamSpec("P")
R = TypeVar("R")


def specialize(name: str, doc: str | None, f: Callable[P, R], **defaults: Any) -> Callable[P, R]:
    """A copy of ``f`` with another name, documentation and other ``defaults``.

    The copy runs the code of ``f``, under its own name in tracebacks and errors, so a call costs no more than one of
    ``f``. Parameters whose names begin with an underscore are left out of the signature that it shows.
    """
    original = cast(FunctionType, f)
    signature = inspect.signature(f)
    parameters = [p.replace(default=defaults.get(p.name, p.default)) for p in signature.parameters.values()]
    given = [p for p in parameters if p.default is not p.empty]
    code = original.__code__.replace(co_name=name, co_qualname=name)
    function = FunctionType(code, original.__globals__, name)
    function.__defaults__ = tuple(p.default for p in given if p.kind is p.POSITIONAL_OR_KEYWORD)
    function.__kwdefaults__ = {p.name: p.default for p in given if p.kind is p.KEYWORD_ONLY}
    function.__annotations__ = original.__annotations__
    shown = signature.replace(parameters=[p for p in parameters if not p.name.startswith("_")])
    function.__signature__ = shown  # type: ignore[attr-defined]
    function.__qualname__ = name
    function.__doc__ = doc
    return cast("Callable[P, R]", function)


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


def for_dimension(name: str, ndim: int, f: Callable[P, R]) -> Callable[P, R]:
    """``f`` for ``ndim`` spatial axes, which it takes as ``_dimension``.

    ``name`` and the documentation of ``f`` may use the fields of ``Dimension``.
    """
    dimension = DIMENSIONS[ndim - 1]
    fields = vars(dimension)
    doc = (f.__doc__ or "").format(**fields)
    return specialize(name.format(**fields), doc, f, _dimension=dimension, data_format=dimension.data_format)
