"""``paddle.geometric``: reductions of segments."""

from __future__ import annotations

from ferrograd import _public
from ferrograd._dialects.segments import segment_max, segment_mean, segment_min, segment_sum

__all__ = ["segment_max", "segment_mean", "segment_min", "segment_sum"]

__dir__ = _public.names(globals())
