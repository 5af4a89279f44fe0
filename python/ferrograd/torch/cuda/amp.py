"""``torch.cuda.amp``: the names from before ``torch.amp``."""

from __future__ import annotations

from typing import Any

from ferrograd._kit import public as _public
from ferrograd.torch.amp import autocast_mode, grad_scaler
from ferrograd.torch.amp.autocast_mode import custom_bwd, custom_fwd

__all__ = ["GradScaler", "autocast", "custom_bwd", "custom_fwd"]


class autocast(autocast_mode.autocast):
    """``torch.amp.autocast("cuda")``: there is no GPU, so it warns and does nothing."""

    def __init__(self, enabled: bool = True, dtype: Any = None, cache_enabled: bool = True) -> None:
        super().__init__("cuda", dtype, enabled, cache_enabled)


class GradScaler(grad_scaler.GradScaler):
    """``torch.amp.GradScaler("cuda")``: there is no GPU, so it warns and does nothing."""

    def __init__(
        self,
        init_scale: float = 2.0**16,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        super().__init__("cuda", init_scale, growth_factor, backoff_factor, growth_interval, enabled)


__dir__ = _public.names(globals())
