"""``paddle.fft``."""

from __future__ import annotations

from ferrograd._core.paddle.fft import *
from ferrograd._core.paddle.fft import __all__ as __all__
from ferrograd._kit import public as _public

__dir__ = _public.names(globals())
