"""``paddle.base.dygraph``: the dynamic graph."""

from __future__ import annotations

from ferrograd._kit import public as _public
from ferrograd.paddle.base.dygraph import base
from ferrograd.paddle.base.dygraph.base import enabled, grad, guard, no_grad, to_variable

__all__ = ["base", "enabled", "grad", "guard", "no_grad", "to_variable"]

__dir__ = _public.names(globals())
