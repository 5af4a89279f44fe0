"""Classes of tensors without numbers. They have no objects here."""

from __future__ import annotations

from ferrograd._kit import public as _public

__all__: list[str] = []

__dir__ = _public.names(globals())
