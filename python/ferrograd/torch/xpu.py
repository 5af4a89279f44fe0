"""``torch.xpu``: there are no Intel GPUs."""

from ferrograd import _public
from ferrograd.torch._no_device import device_count, empty_cache, is_available, manual_seed

__all__ = ["device_count", "empty_cache", "is_available", "manual_seed"]

__dir__ = _public.names(globals())
