"""``paddle.linalg``."""

from __future__ import annotations

from ferrograd._core.paddle.linalg import *
from ferrograd._core.paddle.linalg import __all__ as __all__
