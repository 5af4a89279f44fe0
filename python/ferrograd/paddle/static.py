"""``paddle.static``: a place that says what is missing. There is the dynamic graph only."""

from __future__ import annotations

from typing import NoReturn

from ferrograd.paddle._framework import StaticGraphError


def __getattr__(name: str) -> NoReturn:
    """Refuses every name."""
    if name.startswith("__"):
        raise AttributeError(name)
    raise StaticGraphError(f"paddle.static.{name}: this library has the dynamic graph only")
