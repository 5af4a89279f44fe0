"""``torch.utils.hooks``."""

from __future__ import annotations

from ferrograd._nn.hooks import RemovableHandle

__all__ = ["RemovableHandle"]
