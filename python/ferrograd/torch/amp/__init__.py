"""``torch.amp``: mixed precision, as far as a program without float16 and GPUs takes part in it.

``autocast`` for a device that is not here does nothing, with torch's warning. ``GradScaler`` scales losses of any
dtype.
"""

from __future__ import annotations

from ferrograd.torch.amp.autocast_mode import autocast, custom_bwd, custom_fwd, is_autocast_available
from ferrograd.torch.amp.grad_scaler import GradScaler

__all__ = ["GradScaler", "autocast", "custom_bwd", "custom_fwd", "is_autocast_available"]
