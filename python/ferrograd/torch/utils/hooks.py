"""``torch.utils.hooks``."""

from __future__ import annotations

from ferrograd._kit import public as _public
from ferrograd._layers.hooks import RemovableHandle

__all__ = ["RemovableHandle"]

__dir__ = _public.names(globals())
