"""``paddle.incubate``."""

from __future__ import annotations

from ferrograd.paddle.incubate import autograd

__all__ = ["autograd"]
