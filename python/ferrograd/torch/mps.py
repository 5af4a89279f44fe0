"""``torch.mps``: there are no Metal devices."""

from ferrograd._kit import public as _public
from ferrograd.torch._base.no_device import device_count, empty_cache, is_available, manual_seed

__all__ = ["device_count", "empty_cache", "is_available", "manual_seed"]

__dir__ = _public.names(globals())
