"""Paddle's switches and places, as far as they say anything here: the graph is dynamic and the device is the CPU."""

from __future__ import annotations

from typing import Any

from ferrograd._core import ArgumentError, Tensor
from ferrograd._device import Place

__all__ = [
    "CPUPlace",
    "disable_static",
    "enable_static",
    "get_device",
    "in_dynamic_mode",
    "is_tensor",
    "set_device",
]


def is_tensor(x: Any) -> bool:
    """Whether an object is a tensor."""
    return isinstance(x, Tensor)


def in_dynamic_mode() -> bool:
    """Whether ops run at once, which they always do."""
    return True


def disable_static(place: object = None) -> None:
    """The dynamic graph, which is always there."""


def enable_static() -> None:
    """Refused: there is no static graph."""
    raise NotImplementedError("enable_static: this library has the dynamic graph only")


def CPUPlace() -> Place:
    """The CPU."""
    return Place("cpu")


def get_device() -> str:
    """The name of the device: 'cpu'."""
    return "cpu"


def set_device(device: Any) -> Place:
    """The CPU, the only device; another one is refused."""
    if str(device).split(":")[0] not in ("cpu", "Place(cpu)"):
        raise ArgumentError(f"set_device: the CPU is the only device here, not {device}")
    return CPUPlace()
