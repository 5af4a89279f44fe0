"""``paddle.device``. The CPU is the only device."""

from __future__ import annotations

from ferrograd._kit import public as _public
from ferrograd.paddle._functions.predicates import (
    CPUPlace,
    get_device,
    is_compiled_with_cuda,
    is_compiled_with_rocm,
    is_compiled_with_xpu,
    set_device,
)
from ferrograd.paddle.device import cuda

__all__ = [
    "CPUPlace",
    "cuda",
    "device_count",
    "empty_cache",
    "get_all_custom_device_type",
    "get_all_device_type",
    "get_available_custom_device",
    "get_available_device",
    "get_cudnn_version",
    "get_device",
    "is_available",
    "is_compiled_with_cuda",
    "is_compiled_with_custom_device",
    "is_compiled_with_rocm",
    "is_compiled_with_xpu",
    "set_device",
    "synchronize",
]


def is_available(device: object = None) -> bool:
    """False: there is no accelerator."""
    return False


def device_count(device_type: str | None = None) -> int:
    """0: there is no accelerator."""
    return 0


def empty_cache() -> None:
    """Does nothing: there is no memory of an accelerator."""


def get_all_device_type() -> list[str]:
    """The kinds of devices."""
    return ["cpu"]


def get_available_device() -> list[str]:
    """The devices."""
    return ["cpu"]


def get_all_custom_device_type() -> list[str]:
    """Empty: there are no other devices."""
    return []


get_available_custom_device = get_all_custom_device_type


def get_cudnn_version() -> None:
    """None: there is no GPU."""


def is_compiled_with_custom_device(device_type: str) -> bool:
    """False: there are no other devices."""
    return False


def synchronize(device: object = None) -> None:
    """Does nothing: ops have finished when they return."""


__dir__ = _public.names(globals())
