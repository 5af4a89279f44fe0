"""``torch.backends.mkldnn``: Intel's library of layers is not used."""

from __future__ import annotations

__all__ = ["enabled", "is_available"]

#: Whether a program wants it; it is not there.
enabled = False


def is_available() -> bool:
    """False: it is not used."""
    return False
