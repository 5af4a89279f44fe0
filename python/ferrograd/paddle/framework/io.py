"""``paddle.framework.io``: how tensors are kept in files, under the address of Paddle's module."""

from __future__ import annotations

from ferrograd._kit import public as _public
from ferrograd.paddle._base.files import load, save
from ferrograd.paddle.nn._parameter import EagerParamBase

__all__ = ["EagerParamBase", "load", "save"]

__dir__ = _public.names(globals())
