"""``torch.signal``: the windows of signal processing."""

from __future__ import annotations

from ferrograd._kit import public as _public
from ferrograd.torch.signal import windows

__all__ = ["windows"]

__dir__ = _public.names(globals())
