"""``torch.distributed.autograd``: names to import. No backward pass runs in other processes."""

from __future__ import annotations

from ferrograd._kit import public as _public
from ferrograd.torch.distributed.rpc import is_available as is_available

__all__ = ["context", "is_available"]


class context:
    """The class of backward passes over several processes. It has no objects here."""


__dir__ = _public.names(globals())
