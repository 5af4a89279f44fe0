"""``paddle.imperative``: the dynamic graph under its name of Paddle 1.8."""

from __future__ import annotations

from ferrograd._autograd.modes import no_grad
from ferrograd.paddle.fluid.dygraph import BackwardStrategy, grad, guard, to_variable

__all__ = ["BackwardStrategy", "grad", "guard", "no_grad", "to_variable"]
