"""``torch.backends.mps``: there are no Metal devices."""

from __future__ import annotations

from ferrograd._kit import public as _public

__all__ = ["is_available", "is_built", "is_macos13_or_newer", "is_macos_or_newer"]


def is_available() -> bool:
    """False: the CPU is the only device."""
    return False


def is_built() -> bool:
    """False: there is no code for Metal."""
    return False


def is_macos13_or_newer(minor: int = 0) -> bool:
    """False: there is no Metal device."""
    return False


def is_macos_or_newer(major: int, minor: int) -> bool:
    """False: there is no Metal device."""
    return False


__dir__ = _public.names(globals())
