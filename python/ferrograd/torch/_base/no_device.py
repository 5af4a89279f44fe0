"""The queries that the modules of accelerators share: there is none."""

from __future__ import annotations

import functools
from typing import Any, NoReturn

from ferrograd._core import ArgumentError

__all__ = [
    "device_count",
    "empty_cache",
    "is_available",
    "manual_seed",
    "max_memory_allocated",
    "max_memory_reserved",
    "memory_allocated",
    "memory_reserved",
    "memory_stats",
    "refuse",
    "reset_accumulated_memory_stats",
    "reset_peak_memory_stats",
]


def is_available() -> bool:
    """False: the CPU is the only device.

    >>> import ferrograd.torch as torch
    >>> torch.device("cuda" if torch.cuda.is_available() else "cpu")
    device(type='cpu')
    """
    return False


@functools.cache
def device_count() -> int:
    """0: the CPU is the only device."""
    return 0


def empty_cache() -> None:
    """Does nothing: there is no memory of an accelerator."""


def memory_allocated(device: object = None) -> int:
    """0: there is no memory of an accelerator."""
    return 0


def memory_reserved(device: object = None) -> int:
    """0: there is no memory of an accelerator."""
    return 0


def max_memory_allocated(device: object = None) -> int:
    """0: there is no memory of an accelerator."""
    return 0


def max_memory_reserved(device: object = None) -> int:
    """0: there is no memory of an accelerator."""
    return 0


def memory_stats(device: object = None) -> dict[str, Any]:
    """An empty dictionary: there is no memory of an accelerator."""
    return {}


def reset_peak_memory_stats(device: object = None) -> None:
    """Does nothing: there is no memory of an accelerator."""


def reset_accumulated_memory_stats(device: object = None) -> None:
    """Does nothing: there is no memory of an accelerator."""


def manual_seed(seed: int) -> None:
    """Does nothing: ``torch.manual_seed`` seeds the only generator."""


def refuse(function: str) -> NoReturn:
    """Raises: the function needs a GPU."""
    raise ArgumentError(f"{function}: there is no GPU; ask torch.cuda.is_available() first")
