"""``paddle.utils.dlpack``."""

from __future__ import annotations

from enum import IntEnum

from ferrograd._kit import public as _public
from ferrograd.paddle._functions.create import from_dlpack, to_dlpack

__all__ = ["DLDeviceType", "from_dlpack", "to_dlpack"]


class DLDeviceType(IntEnum):
    """The kinds of devices in DLPack, whose numbers ``__dlpack_device__`` gives. Tensors here are on the CPU."""

    kDLCPU = 1
    kDLCUDA = 2
    kDLCUDAHost = 3
    kDLOpenCL = 4
    kDLVulkan = 7
    kDLMetal = 8
    kDLVPI = 9
    kDLROCM = 10
    kDLROCMHost = 11
    kDLExtDev = 12
    kDLCUDAManaged = 13
    kDLOneAPI = 14
    kDLWebGPU = 15
    kDLHexagon = 16
    kDLMAIA = 17
    kDLTrn = 18


__dir__ = _public.names(globals())
