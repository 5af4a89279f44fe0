"""``torch.nn``."""

from __future__ import annotations

from ferrograd.torch.nn import functional, utils

__all__ = ["functional", "utils"]
