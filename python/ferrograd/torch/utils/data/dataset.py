"""Datasets: samples by index, or as a stream."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Generic, Protocol, TypeVar

from ferrograd._core import torch as ops
from ferrograd._data.splitting import cut, located, split_lengths
from ferrograd._kit import public as _public
from ferrograd.torch._base.generator import Generator, drawing
from ferrograd.torch._tensor import Tensor

__all__ = [
    "ChainDataset",
    "ConcatDataset",
    "Dataset",
    "IterableDataset",
    "StackDataset",
    "Subset",
    "TensorDataset",
    "random_split",
]

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class Samples(Protocol[T_co]):
    """For type checkers: what gives samples by index, such as a dataset, a list or a range."""

    def __getitem__(self, index: Any, /) -> T_co:
        """A sample."""


class Dataset(Generic[T_co]):
    """Samples by index. A subclass has ``__getitem__`` and, for most samplers, ``__len__``.

    If it has ``__getitems__(indices)``, a loader asks it for the samples of a batch at once.
    """

    def __getitem__(self, index: Any) -> T_co:
        raise NotImplementedError("Subclasses of Dataset should implement __getitem__.")

    def __add__(self, other: Dataset[Any]) -> ConcatDataset[Any]:
        return ConcatDataset([self, other])


class IterableDataset(Dataset[T_co], Iterable[T_co]):
    """A stream of samples. A subclass has ``__iter__``.

    Each worker of a loader has a copy, and by itself yields the whole stream; ``get_worker_info()`` in ``__iter__``
    says which part is its own.
    """

    def __add__(self, other: Dataset[Any]) -> ChainDataset:  # type: ignore[override]
        return ChainDataset([self, other])


class TensorDataset(Dataset[tuple[Tensor, ...]]):
    """The rows of tensors that have the same first size.

    >>> import ferrograd.torch as torch
    >>> TensorDataset(torch.tensor([1, 2]), torch.tensor([3, 4]))[1]
    (tensor(2), tensor(4))
    """

    def __init__(self, *tensors: Tensor) -> None:
        if any(t.shape[0] != tensors[0].shape[0] for t in tensors):
            raise AssertionError("Size mismatch between tensors")
        self.tensors = tensors

    def __getitem__(self, index: Any) -> tuple[Tensor, ...]:
        return tuple(t[index] for t in self.tensors)

    def __len__(self) -> int:
        return int(self.tensors[0].shape[0])


def _samples(dataset: Any, indices: Sequence[Any]) -> Sequence[Any]:
    """The samples of several indices, at once if the dataset can give them so."""
    many = getattr(dataset, "__getitems__", None)
    if not callable(many):
        return [dataset[i] for i in indices]
    found: Sequence[Any] = many(indices)
    if len(found) != len(indices):
        raise ValueError(
            f"Nested dataset's output size mismatch. Expected {len(indices)}, got {len(found)}",
        )
    return found


class StackDataset(Dataset[Any]):
    """Datasets of one length side by side: a sample is a tuple of their samples, or a dict if they are named.

    >>> StackDataset(x=[1, 2], y="ab")[1]
    {'x': 2, 'y': 'b'}
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if args and kwargs:
            raise ValueError(
                "Supported either ``tuple``- (via ``args``) or ``dict``- (via ``kwargs``) like input/output, but both "
                "types are given."
            )
        if not args and not kwargs:
            raise ValueError("At least one dataset should be passed")
        self.datasets: Any = args or kwargs
        lengths = {len(d) for d in args or kwargs.values()}
        if len(lengths) > 1:
            raise ValueError("Size mismatch between datasets")
        self._length = lengths.pop()

    def _fg_made(self, values: Iterable[Any]) -> Any:
        return dict(zip(self.datasets, values, strict=True)) if isinstance(self.datasets, dict) else tuple(values)

    def _fg_parts(self) -> list[Any]:
        return list(self.datasets.values()) if isinstance(self.datasets, dict) else list(self.datasets)

    def __getitem__(self, index: Any) -> Any:
        return self._fg_made(d[index] for d in self._fg_parts())

    def __getitems__(self, indices: Sequence[Any]) -> list[Any]:
        """The samples of several indices."""
        return [self._fg_made(values) for values in zip(*(_samples(d, indices) for d in self._fg_parts()), strict=True)]

    def __len__(self) -> int:
        return self._length


class ConcatDataset(Dataset[T_co]):
    """Datasets one after the other.

    >>> data = ConcatDataset([[1, 2], [3]])
    >>> data[2], data[-3], len(data)
    (3, 1, 3)
    """

    def __init__(self, datasets: Iterable[Any]) -> None:
        self.datasets = list(datasets)
        if not self.datasets:
            raise AssertionError("datasets should not be an empty iterable")
        if any(isinstance(d, IterableDataset) for d in self.datasets):
            raise AssertionError("ConcatDataset does not support IterableDataset")
        self.cumulative_sizes = list(itertools.accumulate(len(d) for d in self.datasets))

    def __len__(self) -> int:
        return self.cumulative_sizes[-1]

    def __getitem__(self, idx: Any) -> T_co:
        number, place = located(self.cumulative_sizes, idx)
        found: T_co = self.datasets[number][place]
        return found


class ChainDataset(IterableDataset[Any]):
    """Streams one after the other."""

    def __init__(self, datasets: Iterable[Any]) -> None:
        self.datasets = datasets

    def _fg_streams(self) -> Iterator[Any]:
        for d in self.datasets:
            if not isinstance(d, IterableDataset):
                raise AssertionError("ChainDataset only supports IterableDataset")
            yield d

    def __iter__(self) -> Iterator[Any]:
        for d in self._fg_streams():
            yield from d

    def __len__(self) -> int:
        return sum(len(d) for d in self._fg_streams())


class Subset(Dataset[T_co]):
    """The samples of a dataset at some indices.

    A subclass with a ``__getitem__`` of its own also needs ``__getitems__``, which loaders call.
    """

    def __init__(self, dataset: Samples[T_co], indices: Sequence[Any]) -> None:
        own = type(self)
        if own.__getitem__ is not Subset.__getitem__ and own.__getitems__ is Subset.__getitems__:
            raise NotImplementedError(
                f"{own.__name__} overrides __getitem__ but not __getitems__, which a DataLoader calls. Add for example "
                "`def __getitems__(self, indices): return [self[i] for i in indices]`"
            )
        self.dataset: Any = dataset
        self.indices = indices

    def __getitem__(self, idx: Any) -> T_co:
        at = [self.indices[i] for i in idx] if isinstance(idx, list) else self.indices[idx]
        found: T_co = self.dataset[at]
        return found

    def __getitems__(self, indices: Sequence[Any]) -> Sequence[T_co]:
        """The samples of several indices."""
        return _samples(self.dataset, [self.indices[i] for i in indices])

    def __len__(self) -> int:
        return len(self.indices)


def random_split(
    dataset: Samples[T], lengths: Sequence[int | float], generator: Generator | None = None
) -> list[Subset[T]]:
    """The samples in random order in parts of these lengths, or of these fractions of the whole if they add up to 1.

    >>> [len(part) for part in random_split(range(10), [0.7, 0.3])]
    [7, 3]
    """
    sized: Any = dataset
    found = split_lengths(sized, lengths)
    with drawing(generator, "random_split"):
        order = ops.randperm(sum(found)).tolist()
    return [Subset(dataset, part) for part in cut(order, found)]


__dir__ = _public.names(globals())
