"""``paddle.base.dygraph.base``."""

from __future__ import annotations

from ferrograd._autograd.modes import no_grad
from ferrograd._kit import public as _public
from ferrograd.paddle._base.gradients import grad
from ferrograd.paddle._functions.predicates import in_dynamic_mode as enabled
from ferrograd.paddle.fluid.dygraph import guard, to_variable

__all__ = ["enabled", "grad", "guard", "no_grad", "to_variable"]

__dir__ = _public.names(globals())
