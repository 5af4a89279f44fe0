"""``torch.distributed.rpc``: names to import. No function is called in another process."""

from __future__ import annotations

from ferrograd._kit import public as _public

__all__ = ["RRef", "is_available"]


class RRef:
    """The class of references to values in other processes. No process holds any."""


def is_available() -> bool:
    """False: ask for the collectives of ``torch.distributed``."""
    return False


__dir__ = _public.names(globals())
