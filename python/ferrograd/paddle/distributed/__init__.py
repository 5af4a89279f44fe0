"""``paddle.distributed``: what of it makes sense in one process."""

from __future__ import annotations

from ferrograd.paddle.distributed import fleet

__all__ = ["fleet"]
