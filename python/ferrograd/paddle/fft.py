"""``paddle.fft``."""

from __future__ import annotations

from ferrograd import _public
from ferrograd._core.paddle.fft import *
from ferrograd._core.paddle.fft import __all__ as __all__

__dir__ = _public.names(globals())
