"""``paddle.incubate``."""

from __future__ import annotations

from ferrograd import _public
from ferrograd.paddle.geometric import segment_max, segment_mean, segment_min, segment_sum
from ferrograd.paddle.incubate import autograd

__all__ = ["autograd", "segment_max", "segment_mean", "segment_min", "segment_sum"]

__dir__ = _public.names(globals())
