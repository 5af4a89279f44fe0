"""``torch.autograd.graph``."""

from __future__ import annotations

from ferrograd._core import GradientEdge
from ferrograd._core import gradient_edge as get_gradient_edge

__all__ = ["GradientEdge", "get_gradient_edge"]
