"""``paddle.incubate``."""

from __future__ import annotations

from ferrograd import _public
from ferrograd.paddle.incubate import autograd

__all__ = ["autograd"]

__dir__ = _public.names(globals())
