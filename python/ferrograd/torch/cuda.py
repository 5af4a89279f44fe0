"""``torch.cuda``: there is none, and asking for it is what scripts do."""

from __future__ import annotations

__all__ = ["device_count", "empty_cache", "is_available", "manual_seed", "manual_seed_all"]


def is_available() -> bool:
    """False: everything is on the CPU.

    >>> import ferrograd.torch as torch
    >>> torch.device("cuda" if torch.cuda.is_available() else "cpu")
    device(type='cpu')
    """
    return False


def device_count() -> int:
    """0."""
    return 0


def empty_cache() -> None:
    """Nothing to be done."""


def manual_seed(seed: int) -> None:
    """Nothing to be done: ``torch.manual_seed`` seeds all draws."""


def manual_seed_all(seed: int) -> None:
    """Nothing to be done: ``torch.manual_seed`` seeds all draws."""
