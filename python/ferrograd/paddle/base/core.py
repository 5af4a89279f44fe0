"""``paddle.base.core``: the tensor class, the dtypes, the device, and switches that change nothing here."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from ferrograd._core import FerrogradError, PaddleTensor
from ferrograd.paddle._base import no_static as _no_static
from ferrograd.paddle._base.dtypes import (
    bfloat16,
    bool as _bool,
    complex64,
    complex128,
    float16,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    uint8,
)
from ferrograd.paddle._functions.create import from_dlpack
from ferrograd.paddle._functions.predicates import (
    CPUPlace,
    CUDAPinnedPlace,
    CUDAPlace,
    CustomPlace,
    XPUPinnedPlace,
    XPUPlace,
    finfo,
    iinfo,
    is_compiled_with_cinn,
    is_compiled_with_cuda,
    is_compiled_with_distribute,
    is_compiled_with_ipu,
    is_compiled_with_rocm,
    is_compiled_with_xpu,
)

__all__ = [
    "CPUPlace",
    "CUDAPinnedPlace",
    "CUDAPlace",
    "CustomPlace",
    "DataType",
    "EOFException",
    "EnforceNotMet",
    "Place",
    "VarDesc",
    "XPUPinnedPlace",
    "XPUPlace",
    "cudnn_version",
    "eager",
    "finfo",
    "from_dlpack",
    "get_all_op_names",
    "get_all_op_protos",
    "get_cuda_device_count",
    "iinfo",
    "is_bfloat16_supported",
    "is_compiled_with_avx",
    "is_compiled_with_cinn",
    "is_compiled_with_cuda",
    "is_compiled_with_distribute",
    "is_compiled_with_ipu",
    "is_compiled_with_mkldnn",
    "is_compiled_with_rocm",
    "is_compiled_with_xpu",
    "is_float16_supported",
    "op_support_gpu",
    "set_prim_eager_enabled",
    "supports_avx512f",
    "supports_bfloat16",
]

eager = SimpleNamespace(Tensor=PaddleTensor)
Place = CPUPlace
#: The errors of functions.
EnforceNotMet = FerrogradError


class EOFException(Exception):
    """The error at the end of a reader of a static program. Nothing here raises it: there are no static programs."""


class DataType:
    """The dtypes under their names in C++."""

    BOOL, UINT8, INT8 = _bool, uint8, int8
    INT16, INT32, INT64 = int16, int32, int64
    BFLOAT16, FLOAT16, FLOAT32, FLOAT64 = bfloat16, float16, float32, float64
    COMPLEX64, COMPLEX128 = complex64, complex128


class VarDesc:
    """The names of the types of variables. There are no static programs, whose variables Paddle describes by it."""

    class VarType:
        """The dtypes under their names in static programs, and the one kind of tensors."""

        BOOL, UINT8, INT8 = _bool, uint8, int8
        INT16, INT32, INT64 = int16, int32, int64
        BF16, FP16, FP32, FP64 = bfloat16, float16, float32, float64
        COMPLEX64, COMPLEX128 = complex64, complex128
        DENSE_TENSOR = "dense_tensor"
        DENSE_TENSOR_ARRAY = "dense_tensor_array"
        SELECTED_ROWS = "selected_rows"


def _not_supported(place: object = None) -> bool:
    """False: there is no device with kernels of this kind."""
    return False


is_bfloat16_supported = is_float16_supported = supports_bfloat16 = supports_avx512f = _not_supported
is_compiled_with_avx = is_compiled_with_mkldnn = op_support_gpu = _not_supported


def get_all_op_protos() -> list[Any]:
    """An empty list: there are no ops of static programs."""
    return []


get_all_op_names = get_all_op_protos


def cudnn_version() -> int:
    """-1: there is no GPU."""
    return -1


def get_cuda_device_count() -> int:
    """0: there is no GPU."""
    return 0


def set_prim_eager_enabled(on: Any = None, /) -> None:
    """Does nothing: gradients of every order are there without it."""


_set_prim_all_enabled = _set_prim_forward_enabled = _set_prim_backward_enabled = set_prim_eager_enabled


def _is_fwd_prim_enabled() -> bool:
    """False: ops are not taken apart before they are differentiated."""
    return False


_is_bwd_prim_enabled = _is_all_prim_enabled = _is_eager_prim_enabled = _is_fwd_prim_enabled

__getattr__, __dir__ = _no_static.module_names(__name__)
