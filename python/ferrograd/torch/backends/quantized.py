"""``torch.backends.quantized``: there are no quantized tensors."""

from __future__ import annotations

from ferrograd._kit import public as _public

__all__: list[str] = []

engine = "none"
supported_engines = ["none"]

__dir__ = _public.names(globals())
