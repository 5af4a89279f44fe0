"""Functions of layers that have names in Paddle's namespace too. They are no methods."""

from __future__ import annotations

from typing import Any

from ferrograd import _arguments
from ferrograd._core import paddle as ops
from ferrograd.paddle._tensor import Tensor
from ferrograd.paddle.nn.functional import adaptive_avg_pool1d, conv1d, conv2d, conv3d, group_norm, layer_norm

__all__ = ["adaptive_avg_pool1d", "conv1d", "conv2d", "conv3d", "group_norm", "layer_norm", "softmax"]


def softmax(input: Tensor, dim: int | None = None, dtype: Any = None) -> Tensor:
    """``exp(x) / sum(exp(x))`` along an axis: by default 0 if there are 0, 1 or 3 axes, else 1."""
    input = _arguments.tensor(input, "softmax", "input")
    axis = (0 if input.ndim in (0, 1, 3) else 1) if dim is None else dim
    return ops.softmax(input if dtype is None else ops.cast(input, dtype), axis)
