"""``torch.utils``."""

from __future__ import annotations

from ferrograd.torch.utils import checkpoint, data

__all__ = ["checkpoint", "data"]
