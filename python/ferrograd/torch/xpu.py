"""``torch.xpu``: there are no Intel GPUs."""

from ferrograd._kit import public as _public
from ferrograd.torch._base.no_device import (
    device_count,
    empty_cache,
    is_available,
    manual_seed,
    max_memory_allocated,
    max_memory_reserved,
    memory_allocated,
    memory_reserved,
    memory_stats,
    reset_accumulated_memory_stats,
    reset_peak_memory_stats,
)

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
    "reset_accumulated_memory_stats",
    "reset_peak_memory_stats",
]

__dir__ = _public.names(globals())
