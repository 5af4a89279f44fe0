"""``paddle.incubate.optimizer.lbfgs``: ``paddle.optimizer.LBFGS`` under its former address."""

from __future__ import annotations

from ferrograd._kit import public as _public
from ferrograd.paddle.optimizer.lbfgs import LBFGS

__all__ = ["LBFGS"]

__dir__ = _public.names(globals())
