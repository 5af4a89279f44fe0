"""``paddle.framework``. Names of the static graph raise where they are used."""

from __future__ import annotations

from ferrograd._autograd.modes import no_grad
from ferrograd._core.paddle import set_default_dtype
from ferrograd.paddle._base import no_static as _no_static
from ferrograd.paddle._base.dtypes import dtype
from ferrograd.paddle._base.files import load, save
from ferrograd.paddle._base.gradients import grad
from ferrograd.paddle._functions.predicates import (
    CPUPlace,
    CUDAPinnedPlace,
    CUDAPlace,
    disable_static,
    enable_static,
    get_default_dtype,
    get_flags,
    in_dynamic_mode,
    set_flags,
)
from ferrograd.paddle._functions.random import seed
from ferrograd.paddle.base import core, framework
from ferrograd.paddle.base.framework import (
    convert_np_dtype_to_dtype_,
    dygraph_only,
    in_dynamic_or_pir_mode,
    in_pir_executor_mode,
    in_pir_mode,
    use_pir_api,
)
from ferrograd.paddle.framework import io, random
from ferrograd.paddle.nn._parameter import EagerParamBase, ParamAttr

__all__ = [
    "CPUPlace",
    "CUDAPinnedPlace",
    "CUDAPlace",
    "EagerParamBase",
    "ParamAttr",
    "convert_np_dtype_to_dtype_",
    "core",
    "disable_static",
    "dtype",
    "dygraph_only",
    "enable_static",
    "framework",
    "get_default_dtype",
    "get_flags",
    "grad",
    "in_dynamic_mode",
    "in_dynamic_or_pir_mode",
    "in_pir_executor_mode",
    "in_pir_mode",
    "io",
    "load",
    "no_grad",
    "random",
    "save",
    "seed",
    "set_default_dtype",
    "set_flags",
    "use_pir_api",
]

__getattr__, __dir__ = _no_static.module_names(__name__)
