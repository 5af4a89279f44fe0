"""The queries that the modules of accelerators share: there is none."""

from __future__ import annotations

from typing import NoReturn

from ferrograd._core import ArgumentError

__all__ = ["device_count", "empty_cache", "is_available", "manual_seed", "refuse"]


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


def refuse(function: str) -> NoReturn:
    """Raises: the function needs a GPU."""
    raise ArgumentError(f"{function}: there is no GPU; ask torch.cuda.is_available() first")
