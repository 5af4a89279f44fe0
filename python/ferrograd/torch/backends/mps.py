"""``torch.backends.mps``: there are no Metal devices."""

from __future__ import annotations

from ferrograd import _public

__all__ = ["is_available", "is_built"]


def is_available() -> bool:
    """False: the CPU is the only device."""
    return False


def is_built() -> bool:
    """False: there is no code for Metal."""
    return False


__dir__ = _public.names(globals())
