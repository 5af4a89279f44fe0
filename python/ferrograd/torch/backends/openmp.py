"""``torch.backends.openmp``: OpenMP is not used."""

from __future__ import annotations

from ferrograd._kit import public as _public

__all__ = ["is_available"]


def is_available() -> bool:
    """False: it is not used."""
    return False


__dir__ = _public.names(globals())
