"""A sampler for one of several processes that share a dataset."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from ferrograd._core import torch as ops
from ferrograd._kit import public as _public
from ferrograd.torch._base.generator import Generator, drawing
from ferrograd.torch._base.process_groups import get_rank, get_world_size
from ferrograd.torch.utils.data.sampler import Sampler

__all__ = ["DistributedSampler"]


class DistributedSampler(Sampler[int]):
    """The indices of process ``rank`` of ``num_replicas``, in an order that the seed and :meth:`set_epoch` give.

    By default these are the rank in the default group of ``torch.distributed`` and its size.

    Every process gets the same number of indices: some are repeated, or with ``drop_last`` left out.

    >>> list(DistributedSampler(range(5), num_replicas=2, rank=1, shuffle=False))
    [1, 3, 0]
    """

    def __init__(
        self,
        dataset: Any,
        num_replicas: int | None = None,
        rank: int | None = None,
        shuffle: bool = True,
        seed: int = 0,
        drop_last: bool = False,
    ) -> None:
        num_replicas = get_world_size() if num_replicas is None else num_replicas
        rank = get_rank() if rank is None else rank
        if not 0 <= rank < num_replicas:
            raise ValueError(f"Invalid rank {rank}, rank should be in the interval [0, {num_replicas - 1}]")
        self.dataset = dataset
        self.num_replicas = num_replicas
        self.rank = rank
        self.epoch = 0
        self.shuffle = shuffle
        self.seed = seed
        self.drop_last = drop_last
        n = len(dataset)
        self.num_samples = n // num_replicas if drop_last else math.ceil(n / num_replicas)
        self.total_size = self.num_samples * num_replicas

    def __iter__(self) -> Iterator[int]:
        n = len(self.dataset)
        if self.shuffle:
            with drawing(Generator().manual_seed(self.seed + self.epoch), "DistributedSampler"):
                order = ops.randperm(n).tolist()
        else:
            order = list(range(n))
        return iter([order[i % n] for i in range(self.rank, self.total_size, self.num_replicas)])

    def __len__(self) -> int:
        return self.num_samples

    def set_epoch(self, epoch: int) -> None:
        """Sets the epoch, so that the next order is another one, the same in all processes."""
        self.epoch = epoch


__dir__ = _public.names(globals())
