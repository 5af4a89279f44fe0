"""``torch.autograd.variable``, where older programs import ``Variable`` from."""

from __future__ import annotations

from ferrograd import _public
from ferrograd.torch._classes import Variable

__all__ = ["Variable"]

__dir__ = _public.names(globals())
