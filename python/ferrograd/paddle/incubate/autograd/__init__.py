"""``paddle.incubate.autograd``: derivatives of functions."""

from __future__ import annotations

from ferrograd.paddle._products import Hessian, Jacobian, jvp, vjp

__all__ = ["Hessian", "Jacobian", "jvp", "vjp"]
