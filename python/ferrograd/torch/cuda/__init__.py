"""``torch.cuda``: the queries that scripts make. There is no GPU; what needs one raises."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any, NoReturn

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
    refuse,
    reset_accumulated_memory_stats,
    reset_peak_memory_stats,
)
from ferrograd.torch.cuda import amp, nvtx, random
from ferrograd.torch.cuda.random import (
    get_rng_state,
    get_rng_state_all,
    manual_seed,
    manual_seed_all,
    seed,
    seed_all,
    set_rng_state_all,
)

__all__ = [
    "Event",
    "OutOfMemoryError",
    "Stream",
    "amp",
    "current_device",
    "current_stream",
    "device",
    "device_count",
    "empty_cache",
    "get_arch_list",
    "get_device_capability",
    "get_device_name",
    "get_device_properties",
    "get_rng_state",
    "get_rng_state_all",
    "ipc_collect",
    "is_available",
    "is_bf16_supported",
    "is_current_stream_capturing",
    "is_initialized",
    "is_tf32_supported",
    "manual_seed",
    "manual_seed_all",
    "max_memory_allocated",
    "max_memory_reserved",
    "memory_allocated",
    "memory_reserved",
    "memory_stats",
    "nvtx",
    "random",
    "reset_accumulated_memory_stats",
    "reset_peak_memory_stats",
    "seed",
    "seed_all",
    "set_device",
    "set_rng_state_all",
    "stream",
    "synchronize",
]


#: What an array raises that the memory has no place for.
OutOfMemoryError = MemoryError


def is_initialized() -> bool:
    """False: there is no GPU."""
    return False


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """False: there is no GPU."""
    return False


def is_tf32_supported() -> bool:
    """False: there is no GPU."""
    return False


def get_arch_list() -> list[str]:
    """An empty list: the library is built for no GPU."""
    return []


def ipc_collect() -> None:
    """Does nothing."""


def device(device: Any) -> nullcontext[None]:
    """A context for a GPU. None and numbers below 0 choose none, so it does nothing; any other raises."""
    if device is not None and not (isinstance(device, int) and device < 0):
        refuse("cuda.device")
    return nullcontext()


class Stream:
    """A queue of work of a GPU, which cannot be made here."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        refuse("cuda.Stream")


class Event:
    """A mark in a queue of work of a GPU, which cannot be made here."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        refuse("cuda.Event")


def stream(stream: Any) -> nullcontext[None]:
    """A context that does nothing for None; there are no streams."""
    if stream is not None:
        refuse("cuda.stream")
    return nullcontext()


def current_device() -> NoReturn:
    """Raises: there is no GPU."""
    refuse("cuda.current_device")


def current_stream(device: object = None) -> NoReturn:
    """Raises: there is no GPU."""
    refuse("cuda.current_stream")


def get_device_capability(device: object = None) -> NoReturn:
    """Raises: there is no GPU."""
    refuse("cuda.get_device_capability")


def get_device_name(device: object = None) -> NoReturn:
    """Raises: there is no GPU."""
    refuse("cuda.get_device_name")


def get_device_properties(device: object = None) -> NoReturn:
    """Raises: there is no GPU."""
    refuse("cuda.get_device_properties")


def set_device(device: object) -> NoReturn:
    """Raises: there is no GPU."""
    refuse("cuda.set_device")


def synchronize(device: object = None) -> NoReturn:
    """Raises: there is no GPU."""
    refuse("cuda.synchronize")


class _Class(type):
    """The metaclass of the classes of tensors on a GPU. No tensor is an instance of them."""

    def __call__(cls, *args: Any, **kwargs: Any) -> NoReturn:
        refuse(f"cuda.{cls.__name__}")


for _name in ("BFloat16", "Bool", "Byte", "Char", "Double", "Float", "Half", "Int", "Long", "Short"):
    globals()[f"{_name}Tensor"] = _Class(f"{_name}Tensor", (), {"__module__": "torch.cuda"})


def is_current_stream_capturing() -> bool:
    """False: there is no GPU."""
    return False


def _is_in_bad_fork() -> bool:
    """False: there is no GPU."""
    return False


def _is_compiled() -> bool:
    """False: the library is built for no GPU."""
    return False


def _lazy_call(callable: Any, **kwargs: Any) -> None:
    """Does nothing: what waits for a GPU is never called."""


__dir__ = _public.names(globals())
