"""Parts of tracers that libraries ask about."""

from __future__ import annotations

from ferrograd import _public

__all__: list[str] = []

__dir__ = _public.names(globals())
