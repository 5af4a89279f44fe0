"""``torch.optim.adam``: the module that some programs import ``Adam`` from."""

from __future__ import annotations

from ferrograd._kit import public as _public
from ferrograd.torch.optim._adaptive import Adam

__all__ = ["Adam"]

__dir__ = _public.names(globals())
