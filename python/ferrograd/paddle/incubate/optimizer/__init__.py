"""``paddle.incubate.optimizer``."""

from __future__ import annotations

from ferrograd._kit import public as _public
from ferrograd.paddle.incubate.optimizer import lbfgs, line_search_dygraph
from ferrograd.paddle.incubate.optimizer.lbfgs import LBFGS
from ferrograd.paddle.incubate.optimizer.lookahead import LookAhead
from ferrograd.paddle.incubate.optimizer.modelaverage import ModelAverage

__all__ = ["LBFGS", "LookAhead", "ModelAverage", "lbfgs", "line_search_dygraph"]

__dir__ = _public.names(globals())
