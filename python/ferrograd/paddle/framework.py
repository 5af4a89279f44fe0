"""``paddle.framework``."""

from __future__ import annotations

from ferrograd import _public
from ferrograd._autograd.modes import no_grad
from ferrograd._core.paddle import seed, set_default_dtype
from ferrograd.paddle._files import load, save
from ferrograd.paddle._framework import CPUPlace, get_default_dtype, get_flags, in_dynamic_mode, set_flags
from ferrograd.paddle.base import core
from ferrograd.paddle.nn._parameter import ParamAttr

__all__ = [
    "CPUPlace",
    "ParamAttr",
    "core",
    "get_default_dtype",
    "get_flags",
    "in_dynamic_mode",
    "load",
    "no_grad",
    "save",
    "seed",
    "set_default_dtype",
    "set_flags",
    "use_pir_api",
]


def use_pir_api() -> bool:
    """True, which programs ask for the form of saved static programs; there are none here."""
    return True


__dir__ = _public.names(globals())
