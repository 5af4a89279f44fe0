"""``paddle.jit.dy2static``: how functions are compiled. Paddle's changes of source raise where they are used."""

from __future__ import annotations

from ferrograd.paddle._base import no_static as _no_static
from ferrograd.paddle.jit.dy2static import error, logging_utils, program_translator, utils
from ferrograd.paddle.jit.dy2static.program_translator import StaticFunction

__all__ = ["StaticFunction", "error", "logging_utils", "program_translator", "utils"]

__getattr__, __dir__ = _no_static.module_names(__name__)
