"""``paddle.static``: every attribute raises, as there is no static graph."""

from __future__ import annotations

from typing import NoReturn

from ferrograd.paddle._framework import StaticGraphError

__all__: list[str] = []


def __dir__() -> list[str]:
    return []


def __getattr__(name: str) -> NoReturn:
    """Raises ``StaticGraphError`` for every name."""
    if name.startswith("__"):
        raise AttributeError(name)
    raise StaticGraphError(f"paddle.static.{name}: this library has the dynamic graph only")
