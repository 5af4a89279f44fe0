"""``paddle.tensor.random``: random numbers. All functions of ``paddle.tensor`` are found here."""

from __future__ import annotations

from typing import Any

from ferrograd._core import paddle as ops
from ferrograd.paddle._tensor import Tensor
from ferrograd.paddle.tensor import __dir__ as __dir__, __getattr__ as __getattr__


def gaussian(
    shape: Any, mean: Any = 0.0, std: float = 1.0, seed: int = 0, dtype: Any = None, name: str | None = None
) -> Tensor:
    """Random numbers of the normal distribution. A ``seed`` other than 0 starts the generator anew."""
    if seed:
        ops.seed(seed)
    made: Tensor = ops.randn(shape, dtype) * std + mean
    return made
