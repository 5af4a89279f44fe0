"""Samplers: in which order a loader takes the samples."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence, Sized
from typing import Any, Generic, TypeVar

import numpy as np

from ferrograd._core import torch as ops
from ferrograd._core.torch import mersenne
from ferrograd._data.batching import batch_count, batches
from ferrograd._kit import public as _public
from ferrograd.torch._base.generator import Generator, drawing
from ferrograd.torch._functions.create import as_tensor
from ferrograd.torch._functions.random import multinomial
from ferrograd.torch._tensor import Tensor

__all__ = [
    "BatchSampler",
    "RandomSampler",
    "Sampler",
    "SequentialSampler",
    "SubsetRandomSampler",
    "WeightedRandomSampler",
]

T_co = TypeVar("T_co", covariant=True)


def random_seed(generator: Generator | None = None) -> int:
    """A number of 63 bits, drawn from a generator."""
    with drawing(generator, "random_seed"):
        return int(mersenne.draw("whole", [], np.dtype("int64")).item())


class Sampler(Generic[T_co]):
    """Indices of samples, or lists of indices. A subclass has ``__iter__`` and mostly ``__len__``."""

    def __init__(self, data_source: Any = None) -> None:
        pass

    def __iter__(self) -> Iterator[T_co]:
        raise NotImplementedError


class SequentialSampler(Sampler[int]):
    """The indices in order.

    >>> list(SequentialSampler("abc"))
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

    ``num_samples`` is by default the number of samples. More than that take several orders.

    >>> sorted(RandomSampler("abc"))
    [0, 1, 2]
    """

    def __init__(
        self,
        data_source: Sized,
        replacement: bool = False,
        num_samples: int | None = None,
        generator: Generator | None = None,
    ) -> None:
        self.data_source = data_source
        self.replacement = replacement
        self._num_samples = num_samples
        self.generator = generator
        if not isinstance(replacement, bool):
            raise TypeError(f"replacement should be a boolean value, but got replacement={replacement}")
        if not isinstance(self.num_samples, int) or self.num_samples <= 0:
            raise ValueError(f"num_samples should be a positive integer value, but got num_samples={self.num_samples}")

    @property
    def num_samples(self) -> int:
        """How many indices there are; the dataset may grow."""
        return len(self.data_source) if self._num_samples is None else self._num_samples

    def __iter__(self) -> Iterator[int]:
        n, left = len(self.data_source), self.num_samples
        # One number is drawn from the default generator, however many indices are asked for.
        generator = Generator().manual_seed(random_seed()) if self.generator is None else self.generator
        while left >= 0:
            with drawing(generator, "RandomSampler"):
                found = ops.randint(0, n, [min(left, 32)]) if self.replacement else ops.randperm(n)
            yield from found.tolist()[:left]
            # A last order of which nothing is taken is drawn too, as in PyTorch.
            left -= 32 if self.replacement else n

    def __len__(self) -> int:
        return self.num_samples


class SubsetRandomSampler(Sampler[int]):
    """Given indices in random order.

    >>> sorted(SubsetRandomSampler([3, 1, 5]))
    [1, 3, 5]
    """

    def __init__(self, indices: Sequence[int], generator: Generator | None = None) -> None:
        self.indices = indices
        self.generator = generator

    def __iter__(self) -> Iterator[int]:
        with drawing(self.generator, "SubsetRandomSampler"):
            order = ops.randperm(len(self.indices)).tolist()
        for i in order:
            yield self.indices[i]

    def __len__(self) -> int:
        return len(self.indices)


class WeightedRandomSampler(Sampler[int]):
    """Indices drawn with probabilities in proportion to ``weights``, with or without replacement.

    >>> list(WeightedRandomSampler([0.0, 2.0], 3))
    [1, 1, 1]
    """

    def __init__(
        self,
        weights: Sequence[float] | Tensor,
        num_samples: int,
        replacement: bool = True,
        generator: Generator | None = None,
    ) -> None:
        if not isinstance(num_samples, int) or isinstance(num_samples, bool) or num_samples <= 0:
            raise ValueError(f"num_samples should be a positive integer value, but got num_samples={num_samples}")
        if not isinstance(replacement, bool):
            raise ValueError(f"replacement should be a boolean value, but got replacement={replacement}")
        self.weights = as_tensor(weights, dtype=np.dtype("float64"))
        if len(self.weights.shape) != 1:
            shape = tuple(self.weights.shape)
            raise ValueError(f"weights should be a 1d sequence but given weights have shape {shape}")
        self.num_samples = num_samples
        self.replacement = replacement
        self.generator = generator

    def __iter__(self) -> Iterator[int]:
        weights = np.asarray(self.weights.detach())
        if not np.isfinite(weights).all() or (weights < 0).any() or not weights.any():
            raise RuntimeError("WeightedRandomSampler: weights are finite, not negative, and not all zero")
        n = self.num_samples
        if not self.replacement and n > np.count_nonzero(weights):
            raise RuntimeError(
                f"WeightedRandomSampler: {n} samples without replacement need as many weights that are not zero, but "
                f"there are {np.count_nonzero(weights)}"
            )
        found = multinomial(self.weights, n, self.replacement, generator=self.generator)
        yield from found.tolist()

    def __len__(self) -> int:
        return self.num_samples


class BatchSampler(Sampler[list[int]]):
    """The indices of another sampler in lists of ``batch_size``; ``drop_last`` drops a last one that is shorter.

    >>> list(BatchSampler(range(5), 2, drop_last=False))
    [[0, 1], [2, 3], [4]]
    """

    def __init__(self, sampler: Sampler[int] | Iterable[int], batch_size: int, drop_last: bool) -> None:
        if not isinstance(batch_size, int) or isinstance(batch_size, bool) or batch_size <= 0:
            raise ValueError(f"batch_size should be a positive integer value, but got batch_size={batch_size}")
        if not isinstance(drop_last, bool):
            raise ValueError(f"drop_last should be a boolean value, but got drop_last={drop_last}")
        self.sampler: Any = sampler
        self.batch_size = batch_size
        self.drop_last = drop_last

    def __iter__(self) -> Iterator[list[int]]:
        return batches(self.sampler, self.batch_size, self.drop_last)

    def __len__(self) -> int:
        return batch_count(len(self.sampler), self.batch_size, self.drop_last)


__dir__ = _public.names(globals())
