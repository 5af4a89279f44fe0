"""``torch.optim.sgd``: the module that some programs import ``SGD`` from."""

from __future__ import annotations

from ferrograd._kit import public as _public
from ferrograd.torch.optim._descent import SGD

__all__ = ["SGD"]

__dir__ = _public.names(globals())
