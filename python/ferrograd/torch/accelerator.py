"""``torch.accelerator``: the queries that scripts make. There is no accelerator; programs that ask end on the CPU."""

from __future__ import annotations

from typing import NoReturn

from ferrograd._core import ArgumentError

__all__ = [
    "current_accelerator",
    "current_device_index",
    "current_stream",
    "device_count",
    "empty_cache",
    "is_available",
    "set_device_index",
    "synchronize",
]


def is_available() -> bool:
    """False: the CPU is the only device.

    >>> import ferrograd.torch as torch
    >>> torch.accelerator.current_accelerator().type if torch.accelerator.is_available() else "cpu"
    'cpu'
    """
    return False


def current_accelerator(check_available: bool = False) -> None:
    """None: there is no accelerator."""


def device_count() -> int:
    """0: there are no accelerators."""
    return 0


def empty_cache() -> None:
    """Does nothing: there is no memory of an accelerator."""


def _refuse(function: str) -> NoReturn:
    raise ArgumentError(f"accelerator.{function}: there is no accelerator; ask torch.accelerator.is_available() first")


def current_device_index() -> NoReturn:
    """Raises: there is no accelerator."""
    _refuse("current_device_index")


def current_stream(device: object = None) -> NoReturn:
    """Raises: there is no accelerator."""
    _refuse("current_stream")


def set_device_index(device: object) -> NoReturn:
    """Raises: there is no accelerator."""
    _refuse("set_device_index")


def synchronize(device: object = None) -> NoReturn:
    """Raises: there is no accelerator."""
    _refuse("synchronize")
