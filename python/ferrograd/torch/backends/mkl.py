"""``torch.backends.mkl``: Intel's library of products is not used."""

from __future__ import annotations

__all__ = ["is_available"]


def is_available() -> bool:
    """False: it is not used."""
    return False
