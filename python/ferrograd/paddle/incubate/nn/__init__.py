"""``paddle.incubate.nn``."""

from ferrograd import _public
from ferrograd.paddle.incubate.nn import functional

__all__ = ["functional"]

__dir__ = _public.names(globals())
