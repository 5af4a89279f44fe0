"""``torch.autograd.variable``, where older programs import ``Variable`` from."""

from __future__ import annotations

from ferrograd.torch._classes import Variable

__all__ = ["Variable"]
