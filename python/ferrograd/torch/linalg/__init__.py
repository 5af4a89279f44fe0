"""``torch.linalg``."""

from __future__ import annotations

from ferrograd._core.torch.linalg import *
from ferrograd._core.torch.linalg import __all__ as __all__
