"""``torch.autograd.anomaly_mode``."""

from __future__ import annotations

from ferrograd import _public
from ferrograd._autograd.debugging import detect_anomaly, set_detect_anomaly

__all__ = ["detect_anomaly", "set_detect_anomaly"]

__dir__ = _public.names(globals())
