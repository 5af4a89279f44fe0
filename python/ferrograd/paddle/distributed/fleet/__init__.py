"""``paddle.distributed.fleet``: the part that works in one process."""

from __future__ import annotations

from ferrograd.paddle.distributed.fleet import utils
from ferrograd.paddle.distributed.fleet.utils import recompute

__all__ = ["recompute", "utils"]
