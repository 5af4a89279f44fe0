"""``paddle.jit``: functions and layers that are traced once and run without Python afterwards."""

from __future__ import annotations

from ferrograd.paddle._base import no_static as _no_static
from ferrograd.paddle.jit import api, dy2static
from ferrograd.paddle.jit.api import enable_to_static, ignore_module, load, not_to_static, save, to_static
from ferrograd.paddle.jit.dy2static.logging_utils import set_code_level, set_verbosity

__all__ = [
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

__getattr__, __dir__ = _no_static.module_names(__name__)
