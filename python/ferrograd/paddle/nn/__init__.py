"""``paddle.nn``."""

from __future__ import annotations

from ferrograd.paddle.nn import functional, utils
from ferrograd.paddle.nn.clip import ClipGradByGlobalNorm, ClipGradByNorm, ClipGradByValue

__all__ = ["ClipGradByGlobalNorm", "ClipGradByNorm", "ClipGradByValue", "functional", "utils"]
