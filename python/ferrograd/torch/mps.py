"""``torch.mps``: there are no Metal devices."""

from __future__ import annotations

__all__ = ["device_count", "empty_cache", "is_available", "manual_seed"]


def is_available() -> bool:
    """False: the CPU is the only device."""
    return False


def device_count() -> int:
    """0: there are no Metal devices."""
    return 0


def empty_cache() -> None:
    """Does nothing."""


def manual_seed(seed: int) -> None:
    """Does nothing: ``torch.manual_seed`` seeds the only generator."""
