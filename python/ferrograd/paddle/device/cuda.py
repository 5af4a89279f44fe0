"""``paddle.device.cuda``: the queries say that there is no GPU, all else raises."""

from __future__ import annotations

from typing import NoReturn

from ferrograd._core import ArgumentError
from ferrograd._kit import public as _public
from ferrograd._kit.specialize import specialize

__all__ = [
    "Event",
    "Stream",
    "current_stream",
    "device_count",
    "empty_cache",
    "get_device_capability",
    "get_device_name",
    "get_device_properties",
    "max_memory_allocated",
    "max_memory_reserved",
    "memory_allocated",
    "memory_reserved",
    "stream_guard",
    "synchronize",
]
_QUERIES = ("device_count", "empty_cache")


def device_count() -> int:
    """0: the CPU is the only device."""
    return 0


def empty_cache() -> None:
    """Does nothing: there is no memory of a GPU."""


def _refuse(*args: object, _name: str, **kwargs: object) -> NoReturn:
    raise ArgumentError(f"device.cuda.{_name}: there is no GPU; ask paddle.is_compiled_with_cuda() first")


(
    Event,
    Stream,
    current_stream,
    get_device_capability,
    get_device_name,
    get_device_properties,
    max_memory_allocated,
    max_memory_reserved,
    memory_allocated,
    memory_reserved,
    stream_guard,
    synchronize,
) = (
    specialize(name, "Raises ArgumentError: there is no GPU.", _refuse, _name=name)
    for name in __all__
    if name not in _QUERIES
)

__dir__ = _public.names(globals())
