"""``DataLoader``: batches of samples, made here or by worker processes."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from numbers import Number
from typing import Any

import numpy as np

from ferrograd import _core
from ferrograd._core import paddle as ops
from ferrograd._data.collating import collated, converted
from ferrograd._data.fetching import Batches, Source
from ferrograd._kit import public as _public
from ferrograd._kit.dialect import PADDLE
from ferrograd.paddle._functions.create import to_tensor
from ferrograd.paddle._functions.predicates import batch as _in_batches
from ferrograd.paddle._tensor import Tensor
from ferrograd.paddle.io.dataset import IterableDataset
from ferrograd.paddle.io.sampler import BatchSampler

__all__ = ["DataLoader", "default_collate_fn", "default_convert_fn"]


def default_collate_fn(batch: Any) -> Any:
    """A list of samples as a batch: tensors, arrays and numbers of one place are stacked along a new first axis.

    Tensors give a tensor, arrays and numbers an array. Texts give a list, or a tuple in a sequence. Containers keep
    their structure; a tuple becomes a list.

    Raises:
        TypeError: a sample holds something else.
        ArgumentError: there is no sample, or samples have different lengths.

    >>> default_collate_fn([{"x": 1, "name": "a"}, {"x": 2, "name": "b"}])
    {'x': array([1, 2]), 'name': ['a', 'b']}
    """
    return collated(batch, _stacked, "fields number not same among samples in a batch")


def _stacked(values: Sequence[Any]) -> Any:
    first = values[0]
    if isinstance(first, Tensor):
        return ops.stack(list(values))
    if isinstance(first, np.ndarray):
        return np.stack(values)
    if isinstance(first, Number | np.bool_):
        return np.array(values)
    if isinstance(first, str | bytes):
        return values
    kind = type(first)
    raise TypeError(f"batch data con only contains: tensor, numpy.ndarray, dict, list, number, but got {kind}")


def default_convert_fn(batch: Any) -> Any:
    """The sample itself; a tuple in it becomes a list.

    >>> default_convert_fn((1, {"x": (2,)}))
    [1, {'x': [2]}]
    """
    return converted(batch, lambda value: value)


def _with_tensors(batch: Any) -> Any:
    """The batch with tensors in place of arrays."""
    return converted(
        batch, lambda value: _core.make(value, None, False, PADDLE) if isinstance(value, np.ndarray) else value
    )


class _Collate:
    """Makes a batch with tensors by a function of the user. It is a class so that it can be pickled."""

    def __init__(self, function: Callable[[Any], Any]) -> None:
        self.function = function

    def __call__(self, samples: Any) -> Any:
        return _with_tensors(self.function(samples))


class DataLoader:
    """Batches of the samples of a dataset, with tensors in place of arrays. Each loop is a pass over the dataset.

    With ``num_workers`` processes load ``prefetch_factor`` batches each in advance. They start as ``multiprocessing``
    does: where that is not by a fork, the dataset and the functions given must be picklable, and the script needs
    ``if __name__ == "__main__":``. A worker computes with one thread and has its own seed. ``persistent_workers`` keeps
    the processes for the next pass. ``feed_list``, ``places`` and what concerns buffers have no effect.

    Raises:
        RuntimeError: a worker died, or no batch came within ``timeout`` seconds (0 waits for ever). An error in a
            worker is raised here as its own class, with its traceback as text.

    >>> import ferrograd.paddle as paddle
    >>> data = paddle.io.Subset(range(5), range(5))
    >>> [batch.tolist() for batch in DataLoader(data, batch_size=2, drop_last=True)]
    [[0, 1], [2, 3]]
    """

    def __init__(
        self,
        dataset: Any,
        feed_list: object = None,
        places: object = None,
        return_list: bool = True,
        batch_sampler: Any = None,
        batch_size: int | None = 1,
        shuffle: bool = False,
        drop_last: bool = False,
        collate_fn: Callable[[Any], Any] | None = None,
        num_workers: int = 0,
        use_buffer_reader: bool = True,
        reader_buffer_size: int = 2,
        prefetch_factor: int = 2,
        use_shared_memory: bool = True,
        timeout: float = 0,
        worker_init_fn: Callable[[int], None] | None = None,
        persistent_workers: bool = False,
    ) -> None:
        for right, text in (
            (num_workers >= 0, "num_workers should be a non-negative value"),
            (prefetch_factor > 0, "prefetch_factor should be a positive value"),
            (timeout >= 0, "timeout should be a non-negative value"),
        ):
            if not right:
                raise AssertionError(text)
        self.dataset = dataset
        self.return_list = return_list
        self.collate_fn = collate_fn
        self.num_workers = num_workers
        self.prefetch_factor = prefetch_factor
        self.timeout = timeout
        self.worker_init_fn = worker_init_fn
        self._persistent_workers = persistent_workers
        self._fg_is_stream = isinstance(dataset, IterableDataset)
        if self._fg_is_stream and shuffle:
            raise ValueError(f"IterableDataset not support shuffle, but got shuffle={shuffle}")
        if self._fg_is_stream and batch_sampler is not None:
            raise ValueError("IterableDataset expect unspecified batch_sampler")
        if batch_sampler is not None:
            if batch_size != 1 or shuffle or drop_last:
                raise AssertionError("batch_size/shuffle/drop_last should not be set when batch_sampler is given")
            batch_size = None
        elif batch_size is not None:
            if batch_size <= 0:
                raise AssertionError("batch_size should be None or a positive value when batch_sampler is not given")
            if not self._fg_is_stream:
                batch_sampler = BatchSampler(dataset, None, shuffle, batch_size, drop_last)
        self.batch_size = batch_size
        self.batch_sampler = batch_sampler
        self.drop_last = drop_last
        self._iterator: Any = None

    def _fg_indices(self) -> Iterator[Any]:
        if self._fg_is_stream:
            return itertools.repeat(None if self.batch_size is None else range(self.batch_size))
        return iter(range(len(self.dataset)) if self.batch_sampler is None else self.batch_sampler)

    def __iter__(self) -> Iterator[Any]:
        if self.num_workers and self._iterator is not None and self._iterator.is_running:
            self._iterator.restart(self._fg_indices())
            kept: Iterator[Any] = self._iterator
            return kept
        is_batched = self.batch_size is not None or self.batch_sampler is not None
        source = Source(
            self.dataset,
            is_stream=self._fg_is_stream,
            is_batched=is_batched,
            collate=_Collate(self.collate_fn or (default_collate_fn if is_batched else default_convert_fn)),
            drops_last=self.drop_last,
            asks_for_many=False,
        )
        if not self.num_workers:
            return Batches(source, self._fg_indices())
        from ferrograd._data import workers

        batches = workers.WorkerBatches(
            source,
            self._fg_indices(),
            workers.Options(
                workers=self.num_workers,
                prefetch=self.prefetch_factor,
                timeout=self.timeout,
                begin=self.worker_init_fn,
                context=workers.context(None),
                seed=int(np.random.randint(0, 2**63 - 1)),
                seeded=workers.seed_native,
                in_order=True,
                stay=self._persistent_workers,
                texts=workers.Texts(
                    failed="DataLoader worker({worker}) caught {kind} with message:\n{traceback}",
                    died="DataLoader 1 workers exit unexpectedly, pids: {pid}, {how}",
                    timed_out="DataLoader got no batch within {seconds} seconds",
                ),
            ),
        )
        if self._persistent_workers:
            self._iterator = batches
        return batches

    @staticmethod
    def from_generator(
        feed_list: object = None,
        capacity: int | None = None,
        use_double_buffer: bool = True,
        iterable: bool = True,
        return_list: bool = False,
        use_multiprocess: bool = False,
        drop_last: bool = True,
    ) -> GeneratorLoader:
        """A loader of what a generator yields, which is given to one of its methods. The arguments have no effect."""
        return GeneratorLoader()

    def __call__(self) -> Iterator[Any]:
        """The batches of one pass."""
        return iter(self)

    def __len__(self) -> int:
        if self._fg_is_stream:
            raise ValueError("length of IterableDataset not supported")
        return len(self.dataset if self.batch_sampler is None else self.batch_sampler)


class GeneratorLoader:
    """Batches that a generator yields, as lists of tensors: what ``DataLoader.from_generator`` makes.

    >>> import ferrograd.paddle as paddle
    >>> loader = paddle.io.DataLoader.from_generator()
    >>> _ = loader.set_sample_generator(lambda: ((float(i), i) for i in range(4)), batch_size=2)
    >>> [[x.tolist() for x in batch] for batch in loader]
    [[[0.0, 1.0], [0, 1]], [[2.0, 3.0], [2, 3]]]
    """

    def __init__(self) -> None:
        self._batches: Callable[[], Iterable[Any]] | None = None

    def set_batch_generator(self, reader: Callable[[], Iterable[Any]], places: object = None) -> GeneratorLoader:
        """Takes a function that yields batches: lists or tuples of arrays or tensors. Returns the loader."""
        self._batches = reader
        return self

    def set_sample_list_generator(self, reader: Callable[[], Iterable[Any]], places: object = None) -> GeneratorLoader:
        """Takes a function that yields batches as lists of samples, which are lists or tuples. Returns the loader."""
        return self.set_batch_generator(lambda: (list(zip(*samples, strict=True)) for samples in reader()))

    def set_sample_generator(
        self, reader: Callable[[], Iterable[Any]], batch_size: int, drop_last: bool = True, places: object = None
    ) -> GeneratorLoader:
        """Sets the function that yields samples, puts ``batch_size`` of them into a batch, and returns the loader."""
        return self.set_sample_list_generator(_in_batches(reader, batch_size, drop_last))

    def __iter__(self) -> Iterator[list[Any]]:
        if self._batches is None:
            raise RuntimeError("DataLoader.from_generator: no generator is set; call set_batch_generator before")
        for batch in self._batches():
            yield [x if isinstance(x, Tensor) else to_tensor(np.asarray(x)) for x in batch]

    def __call__(self) -> Iterator[list[Any]]:
        """The batches of one pass."""
        return iter(self)


__dir__ = _public.names(globals())
