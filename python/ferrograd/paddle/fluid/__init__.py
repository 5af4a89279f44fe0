"""``paddle.fluid``: the names of Paddle 1.8 for gradients."""

from __future__ import annotations

from ferrograd import _public
from ferrograd.paddle.fluid import dygraph

__all__ = ["dygraph"]

__dir__ = _public.names(globals())
