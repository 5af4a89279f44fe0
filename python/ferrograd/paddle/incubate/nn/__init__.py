"""``paddle.incubate.nn``."""

from ferrograd._kit import public as _public
from ferrograd.paddle.incubate.nn import functional

__all__ = ["functional"]

__dir__ = _public.names(globals())
