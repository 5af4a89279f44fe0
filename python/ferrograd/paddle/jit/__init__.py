"""``paddle.jit``: functions and layers that are traced once and run without Python afterwards."""

from __future__ import annotations

from ferrograd._kit import public as _public
from ferrograd.paddle.jit import api, dy2static
from ferrograd.paddle.jit.api import enable_to_static, ignore_module, load, not_to_static, save, to_static
from ferrograd.paddle.jit.dy2static.logging_utils import set_code_level, set_verbosity
from ferrograd.paddle.jit.translated_layer import TranslatedLayer

__all__ = [
    "TranslatedLayer",
    "api",
    "dy2static",
    "enable_to_static",
    "ignore_module",
    "load",
    "not_to_static",
    "save",
    "set_code_level",
    "set_verbosity",
    "to_static",
]

__dir__ = _public.names(globals())
