"""``DataLoader``: batches of samples, made here or by worker processes."""

from __future__ import annotations

import itertools
import multiprocessing
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Generic

from ferrograd._core import ArgumentError
from ferrograd._data.fetching import Batches, Source
from ferrograd._data.worker_info import get_worker_info
from ferrograd._kit import public as _public
from ferrograd._kit.threads import processors
from ferrograd._kit.warning import warn
from ferrograd.torch._base.generator import Generator, manual_seed
from ferrograd.torch.utils.data.collate import default_collate, default_convert
from ferrograd.torch.utils.data.dataset import IterableDataset, Samples, T_co
from ferrograd.torch.utils.data.sampler import BatchSampler, RandomSampler, Sampler, SequentialSampler, random_seed

__all__ = ["DataLoader", "default_collate", "default_convert", "get_worker_info"]

# Names that libraries import.
_BaseDataLoaderIter = _SingleProcessDataLoaderIter = Batches
_collate_fn_t = _worker_init_fn_t = Callable[[Any], Any]

#: Attributes that a loader needs as they were given.
_FIXED = {"batch_size", "batch_sampler", "sampler", "drop_last", "dataset", "persistent_workers"}


def _check(wrong: Any, text: str) -> None:
    if wrong:
        raise ValueError(text)


def _warn_of_many(workers: int) -> None:
    """Warns of more worker processes than this process may use processors."""
    count = len(processors())
    if workers > count:
        warn(
            f"This DataLoader will create {workers} worker processes, and this one may use {count} processors: "
            "excessive worker creation might get DataLoader running slow or even freeze"
        )


class DataLoader(Generic[T_co]):
    """Batches of the samples of a dataset. Each loop over the loader is a pass over the dataset.

    With ``num_workers`` processes load ``prefetch_factor`` batches each in advance. They start as
    ``multiprocessing_context`` says, by default as ``multiprocessing`` does: where that is not by a fork, the dataset
    and the functions given must be picklable, and the script needs ``if __name__ == "__main__":``. A worker computes
    with one thread and has its own seed, which depends on ``generator``. ``persistent_workers`` keeps the processes
    for the next pass.

    Raises:
        RuntimeError: a worker died, or no batch came within ``timeout`` seconds (0 waits for ever). An error in a
            worker is raised here as its own class, with its traceback as text.

    >>> [batch.tolist() for batch in DataLoader(range(5), batch_size=2, drop_last=True)]
    [[0, 1], [2, 3]]
    """

    def __init__(
        self,
        dataset: Samples[T_co],
        batch_size: int | None = 1,
        shuffle: bool | None = None,
        sampler: Sampler[Any] | Iterable[Any] | None = None,
        batch_sampler: Sampler[list[Any]] | Iterable[list[Any]] | None = None,
        num_workers: int = 0,
        collate_fn: Callable[[Any], Any] | None = None,
        pin_memory: bool = False,
        drop_last: bool = False,
        timeout: float = 0,
        worker_init_fn: Callable[[int], None] | None = None,
        multiprocessing_context: Any = None,
        generator: Generator | None = None,
        *,
        prefetch_factor: int | None = None,
        persistent_workers: bool = False,
        pin_memory_device: str = "",
        in_order: bool = True,
    ) -> None:
        _check(
            num_workers < 0,
            "num_workers option should be non-negative; use num_workers=0 to disable multiprocessing.",
        )
        _check(timeout < 0, "timeout option should be non-negative")
        _check(timeout and not num_workers, "timeout option could only be specified in multiprocessing")
        _check(
            prefetch_factor is not None and not num_workers,
            "prefetch_factor option could only be specified in multiprocessing. let num_workers > 0 to enable "
            "multiprocessing, otherwise set prefetch_factor to None.",
        )
        _check(prefetch_factor is not None and prefetch_factor < 1, "prefetch_factor option should be positive")
        _check(persistent_workers and not num_workers, "persistent_workers option needs num_workers > 0")
        if generator is not None and not isinstance(generator, Generator):
            raise ArgumentError(f"generator must be a torch.Generator, not {type(generator).__name__}")
        _warn_of_many(num_workers)
        self.dataset: Any = dataset
        self.num_workers = num_workers
        self.prefetch_factor = 2 if num_workers and prefetch_factor is None else prefetch_factor
        self.pin_memory = pin_memory
        self.pin_memory_device = pin_memory_device
        self.timeout = timeout
        self.worker_init_fn = worker_init_fn
        self.multiprocessing_context = multiprocessing_context
        self.generator = generator
        self.persistent_workers = persistent_workers
        self.in_order = in_order
        self._fg_is_stream = isinstance(dataset, IterableDataset)
        if self._fg_is_stream:
            for name, value in (("shuffle", shuffle or None), ("sampler", sampler), ("batch_sampler", batch_sampler)):
                _check(
                    value is not None,
                    f"DataLoader with IterableDataset: expected unspecified {name} option, but got {name}={value}",
                )
        _check(sampler is not None and shuffle, "sampler option is mutually exclusive with shuffle")
        if batch_sampler is not None:
            _check(
                batch_size != 1 or shuffle or sampler is not None or drop_last,
                "batch_sampler option is mutually exclusive with batch_size, shuffle, sampler, and drop_last",
            )
            batch_size = None
        elif batch_size is None:
            _check(
                drop_last,
                "batch_size=None option disables auto-batching and is mutually exclusive with drop_last",
            )
        self.sampler: Any = sampler
        if sampler is None:
            if self._fg_is_stream:
                self.sampler = _Endless()
            else:
                sized: Any = dataset
                self.sampler = RandomSampler(sized, generator=generator) if shuffle else SequentialSampler(sized)
        if batch_size is not None:
            batch_sampler = BatchSampler(self.sampler, batch_size, drop_last)
        self.batch_size = batch_size
        self.drop_last = drop_last
        self.batch_sampler: Any = batch_sampler
        self.collate_fn = collate_fn or (default_convert if batch_sampler is None else default_collate)
        self._iterator: Any = None
        self._fg_promised: int | None = None
        self._fg_is_ready = True

    @property
    def multiprocessing_context(self) -> Any:
        """How processes are started: a context of ``multiprocessing``, or None for its default."""
        return self._fg_context

    @multiprocessing_context.setter
    def multiprocessing_context(self, given: Any) -> None:
        self._fg_context = self._fg_checked_context(given)

    def _fg_checked_context(self, given: Any) -> Any:
        if given is None:
            return None
        _check(
            not self.num_workers,
            "multiprocessing_context can only be used with multi-process loading (num_workers > 0), but got "
            f"num_workers={self.num_workers}",
        )
        methods = multiprocessing.get_all_start_methods()
        if isinstance(given, str):
            _check(
                given not in methods,
                f"multiprocessing_context option should specify a valid start method in {methods!r}, but got "
                f"multiprocessing_context={given!r}",
            )
            return multiprocessing.get_context(given)
        if not isinstance(given, multiprocessing.context.BaseContext):
            raise TypeError(
                "multiprocessing_context option should be a valid context object or a string specifying the start "
                f"method, but got multiprocessing_context={given}"
            )
        return given

    def __setattr__(self, name: str, value: Any) -> None:
        if name in _FIXED and getattr(self, "_fg_is_ready", False):
            raise ValueError(f"{name} attribute should not be set after {type(self).__name__} is initialized")
        super().__setattr__(name, value)

    @property
    def _auto_collation(self) -> bool:
        """Whether samples are put into batches, under the name that trainers ask for."""
        return self.batch_sampler is not None

    @property
    def _index_sampler(self) -> Any:
        """What gives the indices: of batches, or of samples without batches."""
        return self.batch_sampler if self._auto_collation else self.sampler

    def __iter__(self) -> Iterator[Any]:
        indices = iter(self._index_sampler)
        batches: Iterator[Any]
        if self.num_workers and self._iterator is not None and self._iterator.is_running:
            self._iterator.restart(indices)
            batches = self._iterator
        else:
            # It is drawn without workers too, so that the later numbers do not depend on them.
            seed = random_seed(self.generator)
            source = Source(
                self.dataset,
                is_stream=self._fg_is_stream,
                is_batched=self.batch_sampler is not None,
                collate=self.collate_fn,
                drops_last=self.drop_last,
                asks_for_many=True,
            )
            batches = self._fg_in_workers(source, indices, seed) if self.num_workers else Batches(source, indices)
        return batches if self._fg_promised is None else self._fg_counted(batches, self._fg_promised)

    def _fg_in_workers(self, source: Source, indices: Iterator[Any], seed: int) -> Iterator[Any]:
        from ferrograd._data import workers

        batches = workers.WorkerBatches(
            source,
            indices,
            workers.Options(
                workers=self.num_workers,
                prefetch=self.prefetch_factor or 2,
                timeout=self.timeout,
                begin=self.worker_init_fn,
                context=workers.context(self.multiprocessing_context),
                seed=seed,
                seeded=manual_seed,
                in_order=self.in_order,
                stay=self.persistent_workers,
                texts=workers.Texts(
                    failed="Caught {kind} in DataLoader worker process {worker}.\nOriginal {traceback}",
                    died="DataLoader worker (pid(s) {pid}) exited unexpectedly, {how}",
                    timed_out="DataLoader timed out after {seconds} seconds",
                    killed="DataLoader worker (pid {pid}) is killed {how}",
                ),
            ),
        )
        if self.persistent_workers:
            self._iterator = batches
        return batches

    def _fg_counted(self, batches: Iterator[Any], promised: int) -> Iterator[Any]:
        """The batches, with a warning if a stream has more than its length said."""
        for count, batch in enumerate(batches, 1):
            if count > promised:
                text = (
                    f"Length of IterableDataset {self.dataset} was reported to be {promised} (when accessing "
                    f"len(dataloader)), but {count} samples have been fetched. "
                )
                if self.num_workers:
                    text += (
                        "For multiprocessing data-loading, this could be caused by not properly configuring the "
                        "IterableDataset replica at each worker: torch.utils.data.get_worker_info() tells a worker "
                        "which part is its own."
                    )
                warn(text)
            yield batch

    def __len__(self) -> int:
        if not self._fg_is_stream:
            sampler = self.sampler if self.batch_sampler is None else self.batch_sampler
            return len(sampler)
        length = self._fg_promised = len(self.dataset)
        if self.batch_size is None:
            return length
        return length // self.batch_size if self.drop_last else -(-length // self.batch_size)


def __getattr__(name: str) -> Any:
    if name == "_MultiProcessingDataLoaderIter":
        from ferrograd._data import workers

        return workers.WorkerBatches
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


class _Endless(Sampler[None]):
    """Stands for the indices of a stream, which ends by itself."""

    def __iter__(self) -> Iterator[None]:
        return itertools.repeat(None)


class _DatasetKind:
    """How a dataset is read: by indices, or as a stream."""

    Map, Iterable = 0, 1


__dir__ = _public.names(globals())
