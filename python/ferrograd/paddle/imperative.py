"""``paddle.imperative``: the dynamic graph, as Paddle 1.8 names it."""

from __future__ import annotations

from ferrograd._autograd.modes import no_grad
from ferrograd._kit import public as _public
from ferrograd.paddle.fluid.dygraph import BackwardStrategy, grad, guard, to_variable

__all__ = ["BackwardStrategy", "grad", "guard", "no_grad", "to_variable"]

__dir__ = _public.names(globals())
