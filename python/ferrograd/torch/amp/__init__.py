"""``torch.amp``: mixed precision on the CPU.

``autocast`` for a device that is not here does nothing, with torch's warning. ``GradScaler`` scales losses of any
dtype.
"""

from __future__ import annotations

from ferrograd._kit import public as _public
from ferrograd.torch.amp.autocast_mode import (
    autocast,
    custom_bwd,
    custom_fwd,
    get_autocast_dtype,
    is_autocast_available,
    is_autocast_enabled,
    set_autocast_dtype,
    set_autocast_enabled,
)
from ferrograd.torch.amp.grad_scaler import GradScaler

__all__ = [
    "GradScaler",
    "autocast",
    "custom_bwd",
    "custom_fwd",
    "get_autocast_dtype",
    "is_autocast_available",
    "is_autocast_enabled",
    "set_autocast_dtype",
    "set_autocast_enabled",
]

__dir__ = _public.names(globals())
