"""``paddle.nn``."""

from __future__ import annotations

from ferrograd import _public
from ferrograd.paddle.nn import functional, initializer, layer, utils
from ferrograd.paddle.nn._parameter import ParamAttr, Parameter
from ferrograd.paddle.nn.clip import ClipGradByGlobalNorm, ClipGradByNorm, ClipGradByValue
from ferrograd.paddle.nn.layer import *

__all__ = [
    "ClipGradByGlobalNorm",
    "ClipGradByNorm",
    "ClipGradByValue",
    "ParamAttr",
    "Parameter",
    "functional",
    "initializer",
    "layer",
    "utils",
]
__all__ += layer.__all__  # type: ignore[attr-defined]

__dir__ = _public.names(globals())
