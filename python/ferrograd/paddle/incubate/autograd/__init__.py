"""``paddle.incubate.autograd``: derivatives of functions."""

from __future__ import annotations

from ferrograd._kit import public as _public
from ferrograd.paddle._base.products_with_jacobians import Hessian, Jacobian, jvp, vjp
from ferrograd.paddle.incubate.autograd import utils

__all__ = ["Hessian", "Jacobian", "jvp", "utils", "vjp"]

__dir__ = _public.names(globals())
