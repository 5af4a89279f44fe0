"""``paddle.base``: inner names that scripts and tests use."""

from __future__ import annotations

from ferrograd import _public
from ferrograd.paddle._framework import (
    CPUPlace,
    CUDAPinnedPlace,
    CUDAPlace,
    get_flags,
    in_dynamic_mode,
    is_compiled_with_cuda,
    set_flags,
)
from ferrograd.paddle.base import core, dygraph, framework, wrapped_decorator
from ferrograd.paddle.base.framework import Variable, in_dygraph_mode
from ferrograd.paddle.nn._parameter import ParamAttr

__all__ = [
    "CPUPlace",
    "CUDAPinnedPlace",
    "CUDAPlace",
    "ParamAttr",
    "Variable",
    "core",
    "dygraph",
    "framework",
    "get_flags",
    "in_dygraph_mode",
    "in_dynamic_mode",
    "is_compiled_with_cuda",
    "set_flags",
    "wrapped_decorator",
]

__dir__ = _public.names(globals())
