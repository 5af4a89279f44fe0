"""``paddle.base``: inner names that scripts and tests use. Those of the static graph raise where they are used."""

from __future__ import annotations

from ferrograd.paddle._base import no_static as _no_static
from ferrograd.paddle._functions.predicates import (
    CPUPlace,
    CUDAPinnedPlace,
    CUDAPlace,
    CustomPlace,
    XPUPinnedPlace,
    XPUPlace,
    disable_static,
    enable_static,
    get_flags,
    in_dynamic_mode,
    is_compiled_with_cinn,
    is_compiled_with_cuda,
    is_compiled_with_rocm,
    is_compiled_with_xpu,
    set_flags,
)
from ferrograd.paddle.base import (
    backward,
    compiler,
    core,
    data_feeder,
    dygraph,
    executor,
    framework,
    io,
    layer_helper,
    proto,
    variable_index,
    wrapped_decorator,
)
from ferrograd.paddle.base.compiler import BuildStrategy
from ferrograd.paddle.base.framework import (
    Variable,
    cpu_places,
    in_dygraph_mode,
    in_dynamic_or_pir_mode,
    in_pir_mode,
    require_version,
)
from ferrograd.paddle.nn._parameter import ParamAttr
from ferrograd.paddle.nn.initializer import set_global_initializer
from ferrograd.paddle.utils import unique_name

Tensor = Variable
enable_dygraph = enable_imperative = disable_static
disable_dygraph = disable_imperative = enable_static

__all__ = [
    "BuildStrategy",
    "CPUPlace",
    "CUDAPinnedPlace",
    "CUDAPlace",
    "CustomPlace",
    "ParamAttr",
    "Tensor",
    "Variable",
    "XPUPinnedPlace",
    "XPUPlace",
    "backward",
    "compiler",
    "core",
    "cpu_places",
    "data_feeder",
    "disable_dygraph",
    "dygraph",
    "enable_dygraph",
    "executor",
    "framework",
    "get_flags",
    "in_dygraph_mode",
    "in_dynamic_mode",
    "in_dynamic_or_pir_mode",
    "in_pir_mode",
    "io",
    "is_compiled_with_cinn",
    "is_compiled_with_cuda",
    "is_compiled_with_rocm",
    "is_compiled_with_xpu",
    "layer_helper",
    "proto",
    "require_version",
    "set_flags",
    "set_global_initializer",
    "unique_name",
    "variable_index",
    "wrapped_decorator",
]

__getattr__, __dir__ = _no_static.module_names(__name__)
