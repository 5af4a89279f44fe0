"""``torch.utils.hooks``."""

from __future__ import annotations

from ferrograd import _public
from ferrograd._nn.hooks import RemovableHandle

__all__ = ["RemovableHandle"]

__dir__ = _public.names(globals())
