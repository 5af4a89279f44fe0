"""What a program needs to define gradients of its own functions."""

from __future__ import annotations

from ferrograd._kit import public as _public
from ferrograd.autograd.core import (
    VSpace,
    def_linear,
    defjvp,
    defjvp_argnum,
    defjvp_argnums,
    defvjp,
    defvjp_argnum,
    defvjp_argnums,
    vspace,
)
from ferrograd.autograd.tracer import Box, notrace_primitive, primitive, register_notrace

__all__ = [
    "Box",
    "VSpace",
    "def_linear",
    "defjvp",
    "defjvp_argnum",
    "defjvp_argnums",
    "defvjp",
    "defvjp_argnum",
    "defvjp_argnums",
    "notrace_primitive",
    "primitive",
    "register_notrace",
    "vspace",
]

__dir__ = _public.names(globals())
