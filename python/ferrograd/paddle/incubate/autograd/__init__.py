"""``paddle.incubate.autograd``: derivatives of functions."""

from __future__ import annotations

from ferrograd import _public
from ferrograd.paddle._products import Hessian, Jacobian, jvp, vjp
from ferrograd.paddle.incubate.autograd import utils

__all__ = ["Hessian", "Jacobian", "jvp", "utils", "vjp"]

__dir__ = _public.names(globals())
