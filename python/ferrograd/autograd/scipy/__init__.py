"""Functions of SciPy, which must be installed."""

from __future__ import annotations

from ferrograd._kit import public as _public

__all__: list[str] = []

__dir__ = _public.names(globals())
