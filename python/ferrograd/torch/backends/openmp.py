"""``torch.backends.openmp``: OpenMP is not used."""

from __future__ import annotations

__all__ = ["is_available"]


def is_available() -> bool:
    """False: it is not used."""
    return False
