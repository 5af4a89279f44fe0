"""``torch.cuda``: the queries that scripts make. There is no GPU."""

from __future__ import annotations

__all__ = ["device_count", "empty_cache", "is_available", "manual_seed", "manual_seed_all"]


def is_available() -> bool:
    """False: the CPU is the only device.

    >>> import ferrograd.torch as torch
    >>> torch.device("cuda" if torch.cuda.is_available() else "cpu")
    device(type='cpu')
    """
    return False


def device_count() -> int:
    """0: there are no GPUs."""
    return 0


def empty_cache() -> None:
    """Does nothing."""


def manual_seed(seed: int) -> None:
    """Does nothing: ``torch.manual_seed`` seeds the only generator."""


def manual_seed_all(seed: int) -> None:
    """Does nothing: ``torch.manual_seed`` seeds the only generator."""
