"""``torch.utils``."""

from __future__ import annotations

from ferrograd.torch.utils import checkpoint

__all__ = ["checkpoint"]
