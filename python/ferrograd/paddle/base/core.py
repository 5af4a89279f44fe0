"""``paddle.base.core``: the tensor class and the device."""

from __future__ import annotations

from types import SimpleNamespace

from ferrograd import _public
from ferrograd._core import PaddleTensor
from ferrograd.paddle._framework import CPUPlace, is_compiled_with_cuda, is_compiled_with_rocm, is_compiled_with_xpu

__all__ = [
    "CPUPlace",
    "eager",
    "is_compiled_with_cuda",
    "is_compiled_with_rocm",
    "is_compiled_with_xpu",
    "set_prim_eager_enabled",
]

eager = SimpleNamespace(Tensor=PaddleTensor)


def set_prim_eager_enabled(on: bool, /) -> None:
    """Does nothing: gradients of every order are there without it."""


__dir__ = _public.names(globals())
