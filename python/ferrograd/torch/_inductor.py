"""Switches of PyTorch's compiler, which can be set and read, and change nothing."""

from __future__ import annotations

from ferrograd._kit import public as _public
from ferrograd.torch._dynamo import Switches

__all__ = ["config"]

config = Switches(triton=Switches())

__dir__ = _public.names(globals())
