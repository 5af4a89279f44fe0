"""``paddle.autograd``."""

from __future__ import annotations

from ferrograd.paddle._autograd import backward, grad
from ferrograd.paddle._jacobian import Hessian, Jacobian, hessian, jacobian

__all__ = ["Hessian", "Jacobian", "backward", "grad", "hessian", "jacobian"]
