"""``paddle.autograd.function``: ``PyLayer`` under the names of ``torch.autograd.function``."""

from __future__ import annotations

from ferrograd._kit import public as _public
from ferrograd.paddle.autograd.py_layer import PyLayer, PyLayerContext, once_differentiable

__all__ = ["Function", "FunctionCtx", "once_differentiable"]

Function = PyLayer
FunctionCtx = PyLayerContext

__dir__ = _public.names(globals())
