"""From indices to batches, in the process that calls."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

#: What a fetcher returns when the stream of samples has ended.
ENDED = object()


class Source(NamedTuple):
    """Where batches come from."""

    dataset: Any
    #: Whether the dataset is a stream, so that a list of indices says only how many samples to take.
    is_stream: bool
    #: Whether an index is a list of indices, whose samples make a batch.
    is_batched: bool
    collate: Callable[[Any], Any]
    #: Whether the last samples of a stream are dropped if they are too few for a batch.
    drops_last: bool
    #: Whether ``__getitems__`` of a dataset gives many samples at once.
    asks_for_many: bool

    def fetcher(self) -> Callable[[Any], Any]:
        """A function from an index to its batch, or to ``ENDED``; that of a stream begins the stream anew."""
        fetch = _from_stream(self) if self.is_stream else self._from_map

        def guarded(index: Any) -> Any:
            try:
                return fetch(index)
            except StopIteration as error:
                # It would end the loop over the batches without a word.
                raise RuntimeError(f"the dataset raised StopIteration for the index {index!r:.200}") from error

        return guarded

    def _from_map(self, index: Any) -> Any:
        if not self.is_batched:
            return self.collate(self.dataset[index])
        many = getattr(self.dataset, "__getitems__", None) if self.asks_for_many else None
        return self.collate(many(index) if many else [self.dataset[i] for i in index])


def _from_stream(source: Source) -> Callable[[Any], Any]:
    samples = iter(source.dataset)

    def fetch(index: Any) -> Any:
        if not source.is_batched:
            sample = next(samples, ENDED)
            return ENDED if sample is ENDED else source.collate(sample)
        # The index comes first, so that no sample is taken for which there is no index.
        found = [sample for _, sample in zip(index, samples, strict=False)]
        if not found or (source.drops_last and len(found) < len(index)):
            return ENDED
        return source.collate(found)

    return fetch


class Batches(Iterator[Any]):
    """The batches of a source for the given indices, made when they are asked for."""

    def __init__(self, source: Source, indices: Iterator[Any]) -> None:
        self._fg_fetch, self._fg_indices, self._fg_ended = source.fetcher(), indices, False

    def __next__(self) -> Any:
        batch = ENDED if self._fg_ended else self._fg_fetch(next(self._fg_indices))
        if batch is ENDED:
            self._fg_ended = True
            raise StopIteration
        return batch
