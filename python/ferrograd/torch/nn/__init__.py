"""``torch.nn``."""

from __future__ import annotations

from ferrograd._kit import public as _public
from ferrograd.torch.nn import attention, functional, grad, init, modules, parallel, parameter, utils
from ferrograd.torch.nn.modules import *
from ferrograd.torch.nn.parallel import DataParallel
from ferrograd.torch.nn.parameter import Buffer, Parameter, UninitializedBuffer, UninitializedParameter

__all__ = [
    "Buffer",
    "DataParallel",
    "Parameter",
    "UninitializedBuffer",
    "UninitializedParameter",
    "attention",
    "functional",
    "grad",
    "init",
    "modules",
    "parallel",
    "parameter",
    "utils",
]
__all__ += modules.__all__  # type: ignore[attr-defined]

__dir__ = _public.names(globals())
