"""``torch.autograd.anomaly_mode``."""

from __future__ import annotations

from ferrograd._autograd.debugging import detect_anomaly, set_detect_anomaly
from ferrograd._kit import public as _public

__all__ = ["detect_anomaly", "set_detect_anomaly"]

__dir__ = _public.names(globals())
