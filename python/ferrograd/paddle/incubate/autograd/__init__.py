"""``paddle.incubate.autograd``: derivatives of functions."""

from __future__ import annotations

from ferrograd.paddle._base import no_static as _no_static
from ferrograd.paddle._base.products_with_jacobians import Hessian, Jacobian, jvp, vjp
from ferrograd.paddle.incubate.autograd import utils

__all__ = ["Hessian", "Jacobian", "jvp", "utils", "vjp"]

__getattr__, __dir__ = _no_static.module_names(__name__)
