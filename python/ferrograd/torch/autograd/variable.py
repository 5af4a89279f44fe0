"""``torch.autograd.variable``, where older programs import ``Variable`` from."""

from __future__ import annotations

from ferrograd._kit import public as _public
from ferrograd.torch._base.typed_tensors import Variable

__all__ = ["Variable"]

__dir__ = _public.names(globals())
