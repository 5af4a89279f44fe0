"""Functions of layers that have names in Paddle's namespace too. They are no methods."""

from __future__ import annotations

from ferrograd.paddle.nn.functional import adaptive_avg_pool1d, conv1d, conv2d, conv3d, group_norm, layer_norm

__all__ = ["adaptive_avg_pool1d", "conv1d", "conv2d", "conv3d", "group_norm", "layer_norm"]
