"""``torch.accelerator``: the queries that scripts make. There is no accelerator; programs that ask end on the CPU."""

from __future__ import annotations

from contextlib import nullcontext
from typing import NoReturn

from ferrograd._core import ArgumentError
from ferrograd._kit import public as _public
from ferrograd.torch._base.no_device import (
    device_count,
    empty_cache,
    is_available,
    max_memory_allocated,
    max_memory_reserved,
    memory_allocated,
    memory_reserved,
    memory_stats,
    reset_accumulated_memory_stats,
    reset_peak_memory_stats,
)

__all__ = [
    "current_accelerator",
    "current_device_index",
    "current_stream",
    "device_count",
    "device_index",
    "empty_cache",
    "is_available",
    "max_memory_allocated",
    "max_memory_reserved",
    "memory_allocated",
    "memory_reserved",
    "memory_stats",
    "reset_accumulated_memory_stats",
    "reset_peak_memory_stats",
    "set_device_index",
    "synchronize",
]


def current_accelerator(check_available: bool = False) -> None:
    """None: there is no accelerator."""


def _refuse(function: str) -> NoReturn:
    raise ArgumentError(f"accelerator.{function}: there is no accelerator; ask torch.accelerator.is_available() first")


def current_device_index() -> NoReturn:
    """Raises: there is no accelerator."""
    _refuse("current_device_index")


def current_stream(device: object = None) -> NoReturn:
    """Raises: there is no accelerator."""
    _refuse("current_stream")


def device_index(device: int | None, /) -> nullcontext[None]:
    """A context for an accelerator. None chooses none, so it does nothing; any other raises."""
    if device is not None:
        _refuse("device_index")
    return nullcontext()


def set_device_index(device: object) -> NoReturn:
    """Raises: there is no accelerator."""
    _refuse("set_device_index")


def synchronize(device: object = None) -> NoReturn:
    """Raises: there is no accelerator."""
    _refuse("synchronize")


__dir__ = _public.names(globals())
