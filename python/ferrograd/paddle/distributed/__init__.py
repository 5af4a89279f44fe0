"""``paddle.distributed``: the part that works in one process."""

from __future__ import annotations

from ferrograd.paddle.distributed import fleet

__all__ = ["fleet"]
