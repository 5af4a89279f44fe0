"""``ArrayBox``: what a differentiated function gets in the place of an array is a tensor."""

from __future__ import annotations

from ferrograd._core import Tensor as ArrayBox
from ferrograd._kit import public as _public

__all__ = ["ArrayBox"]

__dir__ = _public.names(globals())
