"""``paddle.base.core``: the tensor class and the device."""

from __future__ import annotations

from types import SimpleNamespace

from ferrograd import _public
from ferrograd._core import PaddleTensor
from ferrograd.paddle._framework import CPUPlace, is_compiled_with_cuda, is_compiled_with_rocm, is_compiled_with_xpu

__all__ = ["CPUPlace", "eager", "is_compiled_with_cuda", "is_compiled_with_rocm", "is_compiled_with_xpu"]

eager = SimpleNamespace(Tensor=PaddleTensor)

__dir__ = _public.names(globals())
