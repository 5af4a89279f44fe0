"""``paddle.common_ops_import``: checks of arguments and names of dtypes, which libraries on Paddle import from here."""

from __future__ import annotations

from ferrograd.paddle import base
from ferrograd.paddle._base import no_static as _no_static
from ferrograd.paddle.base import core
from ferrograd.paddle.base.core import VarDesc
from ferrograd.paddle.base.data_feeder import check_dtype, check_type, check_variable_and_dtype, convert_dtype
from ferrograd.paddle.base.framework import (
    Variable,
    convert_np_dtype_to_dtype_,
    dygraph_only,
    in_dygraph_mode,
)
from ferrograd.paddle.nn._parameter import ParamAttr

__all__ = [
    "ParamAttr",
    "VarDesc",
    "Variable",
    "base",
    "check_dtype",
    "check_type",
    "check_variable_and_dtype",
    "convert_dtype",
    "convert_np_dtype_to_dtype_",
    "core",
    "dygraph_only",
    "in_dygraph_mode",
]

__getattr__, __dir__ = _no_static.module_names(__name__)
