"""The queries that the modules of accelerators share: there is none."""

from __future__ import annotations

__all__ = ["device_count", "empty_cache", "is_available", "manual_seed"]


def is_available() -> bool:
    """False: the CPU is the only device.

    >>> import ferrograd.torch as torch
    >>> torch.device("cuda" if torch.cuda.is_available() else "cpu")
    device(type='cpu')
    """
    return False


def device_count() -> int:
    """0: the CPU is the only device."""
    return 0


def empty_cache() -> None:
    """Does nothing: there is no memory of an accelerator."""


def manual_seed(seed: int) -> None:
    """Does nothing: ``torch.manual_seed`` seeds the only generator."""
