"""``paddle.fluid``: the names of Paddle 1.8 that its documents on gradients use."""

from __future__ import annotations

from ferrograd.paddle.fluid import dygraph

__all__ = ["dygraph"]
