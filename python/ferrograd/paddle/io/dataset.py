"""Datasets: samples by index, or as a stream."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Generic, NoReturn, TypeVar

from ferrograd._core import paddle as ops
from ferrograd._data.splitting import cut, located, split_lengths
from ferrograd._kit import public as _public
from ferrograd.paddle._tensor import Tensor

__all__ = [
    "ChainDataset",
    "ComposeDataset",
    "ConcatDataset",
    "Dataset",
    "IterableDataset",
    "Subset",
    "TensorDataset",
    "random_split",
]

T = TypeVar("T")


class Dataset(Generic[T]):
    """Samples by index. A subclass has ``__getitem__`` and ``__len__``."""

    def __init__(self) -> None:
        pass

    def __getitem__(self, idx: Any) -> T:
        raise NotImplementedError(f"'__getitem__' not implement in class {type(self).__name__}")

    def __len__(self) -> int:
        raise NotImplementedError(f"'__len__' not implement in class {type(self).__name__}")


class IterableDataset(Dataset[T]):
    """A stream of samples. A subclass has ``__iter__``.

    Each worker of a loader has a copy, and by itself yields the whole stream; ``get_worker_info()`` in ``__iter__``
    says which part is its own.
    """

    def __iter__(self) -> Iterator[T]:
        raise NotImplementedError(f"'__iter__' not implement in class {type(self).__name__}")

    def __getitem__(self, idx: Any) -> NoReturn:
        raise RuntimeError(f"'__getitem__' should not be called for IterableDataset {type(self).__name__}")

    def __len__(self) -> int:
        raise RuntimeError(f"'__len__' should not be called for IterableDataset {type(self).__name__}")


class TensorDataset(Dataset[tuple[Tensor, ...]]):
    """The rows of tensors that have the same first size.

    >>> import ferrograd.paddle as paddle
    >>> [v.item() for v in TensorDataset([paddle.to_tensor([1, 2]), paddle.to_tensor([3, 4])])[1]]
    [2, 4]
    """

    def __init__(self, tensors: Sequence[Tensor]) -> None:
        if any(t.shape[0] != tensors[0].shape[0] for t in tensors):
            raise AssertionError("tensors not have same shape of the 1st dimension")
        self.tensors = tensors

    def __getitem__(self, idx: Any) -> tuple[Tensor, ...]:
        return tuple(t[idx] for t in self.tensors)

    def __len__(self) -> int:
        return int(self.tensors[0].shape[0])


def _maps(datasets: Iterable[Any], empty: str, stream: str) -> list[Any]:
    """The datasets as a list; raises if there are none, or if one is a stream."""
    found = list(datasets)
    if not found:
        raise AssertionError(empty)
    if any(isinstance(d, IterableDataset) for d in found):
        raise AssertionError(stream)
    return found


class ComposeDataset(Dataset[tuple[Any, ...]]):
    """Datasets of one length side by side: a sample is a tuple of all fields of their samples.

    >>> from ferrograd.paddle.io import Subset
    >>> ComposeDataset([Subset([1, 2], [0, 1]), Subset([(3, 4), (5, 6)], [0, 1])])[1]
    (2, 5, 6)
    """

    def __init__(self, datasets: Iterable[Dataset[Any]]) -> None:
        self.datasets = _maps(datasets, "input datasets should not be empty", "paddle.io.IterableDataset not supported")
        if not all(isinstance(d, Dataset) for d in self.datasets):
            raise AssertionError("each input dataset should be paddle.io.Dataset")
        if len({len(d) for d in self.datasets}) > 1:
            raise AssertionError("lengths of datasets should be same")

    def __len__(self) -> int:
        return len(self.datasets[0])

    def __getitem__(self, idx: Any) -> tuple[Any, ...]:
        samples = [d[idx] for d in self.datasets]
        return tuple(field for s in samples for field in (s if isinstance(s, list | tuple) else [s]))


class ChainDataset(IterableDataset[Any]):
    """Streams one after the other."""

    def __init__(self, datasets: Iterable[IterableDataset[Any]]) -> None:
        self.datasets = list(datasets)
        if not self.datasets:
            raise AssertionError("input datasets should not be empty")
        if not all(isinstance(d, IterableDataset) for d in self.datasets):
            raise AssertionError("ChainDataset only support paddle.io.IterableDataset")

    def __iter__(self) -> Iterator[Any]:
        for d in self.datasets:
            yield from d


class Subset(Dataset[T]):
    """The samples of a dataset at some indices.

    >>> list(Subset("abc", [2, 0]))
    ['c', 'a']
    """

    def __init__(self, dataset: Any, indices: Sequence[Any]) -> None:
        self.dataset = dataset
        self.indices = indices

    def __getitem__(self, idx: Any) -> T:
        found: T = self.dataset[self.indices[idx]]
        return found

    def __len__(self) -> int:
        return len(self.indices)


class ConcatDataset(Dataset[T]):
    """Datasets one after the other.

    >>> data = ConcatDataset([[1, 2], [3]])
    >>> data[2], data[-3], len(data)
    (3, 1, 3)
    """

    def __init__(self, datasets: Iterable[Any]) -> None:
        self.datasets = _maps(
            datasets, "datasets should not be an empty iterable", "ConcatDataset does not support IterableDataset"
        )
        self.cumulative_sizes = list(itertools.accumulate(len(d) for d in self.datasets))

    def __len__(self) -> int:
        return self.cumulative_sizes[-1]

    def __getitem__(self, idx: Any) -> T:
        number, place = located(self.cumulative_sizes, idx)
        found: T = self.datasets[number][place]
        return found


def random_split(dataset: Any, lengths: Sequence[int | float], generator: object = None) -> list[Subset[Any]]:
    """The samples in random order in parts of these lengths, or of these fractions of the whole if they add up to 1.

    The order is that of ``paddle.randperm``; ``generator`` is not used, as in Paddle.

    >>> [len(part) for part in random_split(range(10), [0.7, 0.3])]
    [7, 3]
    """
    found = split_lengths(dataset, lengths)
    return [Subset(dataset, part) for part in cut(ops.randperm(sum(found)).tolist(), found)]


__dir__ = _public.names(globals())
