"""``torch.cpu``: the queries that scripts make of the only device."""

from __future__ import annotations

from typing import Any

from ferrograd._kit import public as _public
from ferrograd.torch.cpu import amp

__all__ = ["amp", "current_device", "device_count", "is_available", "is_initialized", "set_device", "synchronize"]


def is_available() -> bool:
    """True."""
    return True


def is_initialized() -> bool:
    """True."""
    return True


def device_count() -> int:
    """1, however many cores the CPU has."""
    return 1


def current_device() -> str:
    """The name of the only device."""
    return "cpu"


def set_device(device: Any) -> None:
    """Does nothing: there is one device."""


def synchronize(device: Any = None) -> None:
    """Does nothing: every op has finished when its call returns."""


__dir__ = _public.names(globals())
