"""Batch normalization of a batch that is divided among processes."""

from __future__ import annotations

import math
from typing import Any

from ferrograd import _core
from ferrograd._autograd.modes import no_grad
from ferrograd._core import Tensor, native
from ferrograd._kit.dialect import dialect_of
from ferrograd.distributed._communicator import Communicator
from ferrograd.distributed._operations import Total

Pair = tuple[Tensor | None, Tensor | None]


class Blocks:
    """The blocks of samples of all processes. Those of this process are the batch of a level of ``vmap``."""

    def __init__(self, communicator: Communicator, level: Any, count: int, deterministic: bool) -> None:
        self._communicator, self._level, self.count, self._deterministic = communicator, level, count, deterministic

    def allreduce(self, x: Tensor) -> Tensor:
        """The sum of the tensors of all blocks, on each."""
        found = Total.apply(self._level.leave(x, 0), self._communicator, self._deterministic)
        return self._level.enter(found, 0)

    def first(self, x: Tensor) -> Tensor:
        """The tensor of the first block of this process, outside of the level."""
        return self._level.leave(x, 0)[0]


def normalize(
    x: Tensor,
    axis: int,
    comm: Communicator | Blocks,
    running: Pair,
    scale: Pair,
    share: float,
    eps: float,
    unbiased: bool,
) -> Any:
    """Normalizes each channel, counted by ``axis``, by the mean and variance over all other axes and all processes.

    ``scale`` are weight and bias. The running mean and variance are updated with a share of the new ones; ``unbiased``
    concerns that variance. Half dtypes are computed in float32. The parts of the processes may have different sizes.
    """
    dtype = x.dtype
    if dtype.name in ("float16", "bfloat16"):
        x = x.astype("float32")
    axes = [i for i in range(x.ndim) if i != axis]
    mine = math.prod(x.shape[i] for i in axes)
    if isinstance(comm, Blocks):
        count = mine * comm.count
    else:
        count = int(comm.allreduce(_core.make(mine, "int64", False, dialect_of(x))).item())
    mean = comm.allreduce(native.sum(x, axes, keepdims=True)) / count
    centered = x - mean
    variance = comm.allreduce(native.sum(centered * centered, axes, keepdims=True)) / count
    factors = (1.0, count / (count - 1) if unbiased and count > 1 else 1.0)
    with no_grad():
        for kept, new, factor in zip(running, (mean, variance), factors, strict=True):
            if kept is not None:
                new = comm.first(new.detach()) if isinstance(comm, Blocks) else new.detach()
                new = new.reshape(list(kept.shape)).astype(kept.dtype)
                kept.detach().copy_(kept.detach() * (1 - share) + new * (factor * share))
    found = centered / native.sqrt(variance + eps)
    weight, bias = (None if s is None else s.reshape(list(mean.shape)) for s in scale)
    found = found if weight is None else found * weight
    found = found if bias is None else found + bias
    return found.astype(dtype)
