"""``paddle.utils.dlpack``."""

from __future__ import annotations

from ferrograd import _public
from ferrograd.paddle._creation import from_dlpack, to_dlpack

__all__ = ["from_dlpack", "to_dlpack"]

__dir__ = _public.names(globals())
