"""``torch.nn``."""

from __future__ import annotations

from ferrograd.torch.nn import functional

__all__ = ["functional"]
