"""``paddle.fft``."""

from __future__ import annotations

from ferrograd._core.paddle.fft import *
from ferrograd._core.paddle.fft import __all__ as __all__
