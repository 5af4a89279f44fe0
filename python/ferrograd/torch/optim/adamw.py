"""``torch.optim.adamw``: the module that some programs import ``AdamW`` from."""

from __future__ import annotations

from ferrograd._kit import public as _public
from ferrograd.torch.optim._adaptive import AdamW

__all__ = ["AdamW"]

__dir__ = _public.names(globals())
