"""Classes of tensors without numbers, which there are none of."""

from __future__ import annotations

from ferrograd import _public

__all__: list[str] = []

__dir__ = _public.names(globals())
