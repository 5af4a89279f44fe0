"""``torch.serialization``."""

from __future__ import annotations

from typing import Any

from ferrograd import _public
from ferrograd.torch._files import add_safe_globals, clear_safe_globals, get_safe_globals, load, safe_globals, save

__all__ = ["add_safe_globals", "clear_safe_globals", "get_safe_globals", "load", "safe_globals", "save"]

#: What ``map_location`` may be.
MAP_LOCATION = Any

__dir__ = _public.names(globals())
