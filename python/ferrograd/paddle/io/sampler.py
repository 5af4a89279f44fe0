"""Samplers: in which order a loader takes the samples. They draw from NumPy's global generator, as in Paddle."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Sequence, Sized
from typing import Any, Generic, TypeVar

import numpy as np

from ferrograd._core import paddle as ops
from ferrograd._data.batching import batch_count, batches
from ferrograd._kit import public as _public
from ferrograd.paddle._base.process_groups import get_rank, get_world_size
from ferrograd.paddle._tensor import Tensor
from ferrograd.paddle.io.dataset import IterableDataset

__all__ = [
    "BatchSampler",
    "DistributedBatchSampler",
    "RandomSampler",
    "Sampler",
    "SequenceSampler",
    "SubsetRandomSampler",
    "WeightedRandomSampler",
]

T = TypeVar("T")


def _check(right: Any, text: str, kind: type[Exception] = AssertionError) -> None:
    if not right:
        raise kind(text)


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and value > 0


class Sampler(Generic[T]):
    """Indices of samples. A subclass has ``__iter__`` and mostly ``__len__``."""

    def __init__(self, data_source: Any = None) -> None:
        self.data_source = data_source

    def __iter__(self) -> Iterator[T]:
        raise NotImplementedError


class SequenceSampler(Sampler[int]):
    """The indices in order.

    >>> list(SequenceSampler("abc"))
    [0, 1, 2]
    """

    def __init__(self, data_source: Sized) -> None:
        self.data_source = data_source

    def __iter__(self) -> Iterator[int]:
        return iter(range(len(self.data_source)))

    def __len__(self) -> int:
        return len(self.data_source)


class RandomSampler(Sampler[int]):
    """The indices in random order. With ``replacement`` each is drawn from all.

    ``num_samples`` is by default the number of samples. ``generator``, if given, is an iterator of the indices.

    >>> sorted(RandomSampler("abc"))
    [0, 1, 2]
    """

    def __init__(
        self,
        data_source: Sized,
        replacement: bool = False,
        num_samples: int | None = None,
        generator: Iterator[int] | None = None,
    ) -> None:
        self.data_source = data_source
        self.replacement = replacement
        self._num_samples = num_samples
        self.generator = generator
        _check(
            isinstance(replacement, bool),
            f"expect boolean value for replacement, but got replacement={replacement}",
            TypeError,
        )
        n = self.num_samples
        _check(_is_count(n), f"num_samples should be a positive integer, but got num_samples={n}", ValueError)
        _check(
            replacement or n <= len(data_source),
            "num_samples should be smaller than or equal to length of data_source when replacement is False, but got "
            f"num_samples: {n} > data_source: {len(data_source)}",
            ValueError,
        )

    @property
    def num_samples(self) -> int:
        """How many indices there are; the dataset may grow."""
        return len(self.data_source) if self._num_samples is None else self._num_samples

    def __iter__(self) -> Iterator[int]:
        if self.generator is not None:
            return itertools.islice(self.generator, self.num_samples)
        n = len(self.data_source)
        return iter(np.random.choice(np.arange(n), self.num_samples, replace=self.replacement).tolist())

    def __len__(self) -> int:
        return self.num_samples


class SubsetRandomSampler(Sampler[int]):
    """Given indices in the random order of ``paddle.randperm``.

    >>> sorted(SubsetRandomSampler([3, 1, 5]))
    [1, 3, 5]
    """

    def __init__(self, indices: Sequence[int]) -> None:
        _check(len(indices), "The length of `indices` in SubsetRandomSampler should be greater than 0.", ValueError)
        self.indices = indices

    def __iter__(self) -> Iterator[int]:
        for i in ops.randperm(len(self.indices)).tolist():
            yield self.indices[i]

    def __len__(self) -> int:
        return len(self.indices)


class WeightedRandomSampler(Sampler[int]):
    """Indices drawn with probabilities in proportion to ``weights``, with or without replacement.

    Each row of a matrix of weights is drawn from in turn.

    >>> list(WeightedRandomSampler([0.0, 2.0], 3))
    [1, 1, 1]
    """

    def __init__(self, weights: Any, num_samples: int, replacement: bool = True) -> None:
        _check(_is_count(num_samples), "num_samples should be a positive integer", ValueError)
        _check(isinstance(replacement, bool), "replacement should be a boolean value", ValueError)
        self.weights = weights
        self.num_samples = num_samples
        self.replacement = replacement

    def _rows(self) -> Any:
        given = self.weights
        _check(
            isinstance(given, list | tuple | np.ndarray | Tensor),
            "weights should be paddle.Tensor, numpy.ndarray, list or tuple",
        )
        weights = np.asarray(given.detach() if isinstance(given, Tensor) else given, dtype=np.float64)
        _check(1 <= weights.ndim <= 2, "weights should be a 1-D or 2-D array")
        return weights.reshape(-1, weights.shape[-1])

    def __iter__(self) -> Iterator[int]:
        rows = self._rows()
        _check((rows >= 0).all() and np.isfinite(rows).all(), "weights should be positive value, not INF and not NaN")
        positive = (rows > 0).sum(1)
        _check((positive > 0).all(), "weights should have positive values")
        _check(
            self.replacement or (positive >= self.num_samples).all(),
            "weights positive value number should not less than num_samples when replacement=False",
        )
        found = [np.random.choice(len(w), self.num_samples, self.replacement, w / w.sum()) for w in rows]
        return iter(np.concatenate(found).tolist())

    def __len__(self) -> int:
        return self.num_samples * len(self._rows())


class BatchSampler(Sampler[list[int]]):
    """Indices in lists of ``batch_size``: those of ``sampler``, or all of ``dataset``, in random order by ``shuffle``.

    >>> list(BatchSampler(range(5), batch_size=2)), len(BatchSampler(range(5), batch_size=2, drop_last=True))
    ([[0, 1], [2, 3], [4]], 2)
    """

    def __init__(
        self,
        dataset: Any = None,
        sampler: Sampler[int] | Iterable[int] | None = None,
        shuffle: bool = False,
        batch_size: int = 1,
        drop_last: bool = False,
    ) -> None:
        if dataset is None:
            _check(sampler is not None, "either dataset or sampler should be set")
            kind = type(sampler)
            _check(
                isinstance(sampler, Iterable), f"sampler should be either paddle.io.Sampler or Iterable, but got {kind}"
            )
            _check(not shuffle, "shuffle should be False when sampler is set")
        else:
            _check(not isinstance(dataset, IterableDataset), "dataset should not be a paddle.io.IterableDataset")
            _check(sampler is None, "should not set both dataset and sampler")
            _check(isinstance(shuffle, bool), f"shuffle should be a boolean value, but got {type(shuffle)}")
            sampler = RandomSampler(dataset) if shuffle else SequenceSampler(dataset)
        _check(_is_count(batch_size), f"batch_size should be a positive integer, but got {batch_size}")
        _check(isinstance(drop_last, bool), f"drop_last should be a boolean value, but got {type(drop_last)}")
        self.sampler: Any = sampler
        self.batch_size = batch_size
        self.shuffle = shuffle
        self.drop_last = drop_last

    def _fg_indices(self) -> Iterable[int]:
        found: Iterable[int] = self.sampler
        return found

    def __iter__(self) -> Iterator[list[int]]:
        return batches(self._fg_indices(), self.batch_size, self.drop_last)

    def __len__(self) -> int:
        return batch_count(len(self.sampler), self.batch_size, self.drop_last)


class DistributedBatchSampler(BatchSampler):
    """The batches of process ``rank`` of ``num_replicas``, by default those of ``paddle.distributed``.

    Every process gets the same number of indices: some are repeated. The processes take batches in turn.

    >>> list(DistributedBatchSampler(range(6), batch_size=2, num_replicas=2, rank=1))
    [[2, 3], [5]]
    """

    def __init__(
        self,
        dataset: Any,
        batch_size: int,
        num_replicas: int | None = None,
        rank: int | None = None,
        shuffle: bool = False,
        drop_last: bool = False,
    ) -> None:
        _check(_is_count(batch_size), "batch_size should be a positive integer")
        _check(isinstance(shuffle, bool), "shuffle should be a boolean value")
        _check(isinstance(drop_last, bool), "drop_last should be a boolean number")
        _check(num_replicas is None or _is_count(num_replicas), "num_replicas should be a positive integer")
        _check(rank is None or (isinstance(rank, int) and rank >= 0), "rank should be a non-negative integer")
        self.dataset = dataset
        self.batch_size = batch_size
        self.shuffle = shuffle
        self.drop_last = drop_last
        self.nranks = num_replicas or get_world_size()
        self.local_rank = get_rank() if rank is None else rank
        self.epoch = 0
        self.num_samples = math.ceil(len(dataset) / self.nranks)
        self.total_size = self.num_samples * self.nranks
        # It gives `__len__` the number of indices of this process.
        self.sampler = range(self.num_samples)

    def _fg_indices(self) -> Iterable[int]:
        n, size, ranks, rank = len(self.dataset), self.batch_size, self.nranks, self.local_rank
        order = [i % n for i in range(self.total_size)]
        if self.shuffle:
            np.random.RandomState(self.epoch).shuffle(order)
            self.epoch += 1
        # Full batches of all processes in turn; what is left is cut into one piece for each.
        full = self.total_size - self.total_size % (size * ranks)
        own = [i for start in range(rank * size, full, size * ranks) for i in order[start : start + size]]
        piece = (self.total_size - full) // ranks
        return own + order[full + rank * piece : full + (rank + 1) * piece]

    def set_epoch(self, epoch: int) -> None:
        """Sets the epoch, which is the seed of the next order, the same in all processes."""
        self.epoch = epoch


__dir__ = _public.names(globals())
