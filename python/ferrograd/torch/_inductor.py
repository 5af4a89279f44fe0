"""Switches of PyTorch's compiler, which can be set and read, and change nothing."""

from __future__ import annotations

from types import SimpleNamespace

from ferrograd import _public

__all__ = ["config"]

config = SimpleNamespace(triton=SimpleNamespace())

__dir__ = _public.names(globals())
