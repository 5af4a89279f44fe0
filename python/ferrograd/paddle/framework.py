"""``paddle.framework``."""

from __future__ import annotations

from ferrograd import _public
from ferrograd._autograd.modes import no_grad
from ferrograd._core.paddle import get_default_dtype, seed, set_default_dtype
from ferrograd.paddle._framework import CPUPlace, get_flags, in_dynamic_mode, set_flags
from ferrograd.paddle.base import core

__all__ = [
    "CPUPlace",
    "core",
    "get_default_dtype",
    "get_flags",
    "in_dynamic_mode",
    "no_grad",
    "seed",
    "set_default_dtype",
    "set_flags",
]

__dir__ = _public.names(globals())
