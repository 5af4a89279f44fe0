"""``paddle.jit.dy2static.logging_utils``: what Paddle prints of the functions that it compiles."""

from __future__ import annotations

from ferrograd._kit import public as _public

__all__ = ["set_code_level", "set_verbosity"]


def set_verbosity(level: int = 0, also_to_stdout: bool = False) -> None:
    """Does nothing: ``explain()`` of a compiled function says what became of it."""


def set_code_level(level: int = 100, also_to_stdout: bool = False) -> None:
    """Does nothing: no source is changed."""


__dir__ = _public.names(globals())
