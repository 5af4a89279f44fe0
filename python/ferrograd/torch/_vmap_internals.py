"""``vmap`` under the name that it had before ``torch.func``."""

from __future__ import annotations

from ferrograd._kit import public as _public
from ferrograd.torch._base.vmap import vmap

__all__ = ["vmap"]

_vmap = vmap


__dir__ = _public.names(globals())
