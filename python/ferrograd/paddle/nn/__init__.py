"""``paddle.nn``."""

from __future__ import annotations

from ferrograd.paddle.nn import functional

__all__ = ["functional"]
