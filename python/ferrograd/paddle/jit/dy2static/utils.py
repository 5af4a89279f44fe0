"""``paddle.jit.dy2static.utils``: the error of functions that cannot be compiled."""

from __future__ import annotations

from ferrograd._compile import CompileError as Dygraph2StaticException
from ferrograd.paddle._base import no_static as _no_static

__all__ = ["Dygraph2StaticException"]

__getattr__, __dir__ = _no_static.module_names(__name__)
