"""The vector spaces of arrays."""

from __future__ import annotations

from ferrograd._kit import public as _public
from ferrograd.autograd._spaces import ArrayVSpace, ComplexArrayVSpace

__all__ = ["ArrayVSpace", "ComplexArrayVSpace"]

__dir__ = _public.names(globals())
