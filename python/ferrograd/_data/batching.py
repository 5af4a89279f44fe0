"""Indices of samples in lists, as samplers of batches give them."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator


def batches(indices: Iterable[int], size: int, drop_last: bool) -> Iterator[list[int]]:
    """The indices in lists of ``size``; ``drop_last`` drops a last one that is shorter.

    >>> list(batches(range(5), 2, False)), list(batches(range(5), 2, True))
    ([[0, 1], [2, 3], [4]], [[0, 1], [2, 3]])
    """
    rest = iter(indices)
    while batch := list(itertools.islice(rest, size)):
        if len(batch) < size and drop_last:
            return
        yield batch


def batch_count(count: int, size: int, drop_last: bool) -> int:
    """How many lists :func:`batches` makes of ``count`` indices.

    >>> batch_count(5, 2, False), batch_count(5, 2, True)
    (3, 2)
    """
    return int((count + (0 if drop_last else size - 1)) // size)
