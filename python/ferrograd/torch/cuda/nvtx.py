"""``torch.cuda.nvtx``: marks for a profiler of GPUs. There is no GPU, so they do nothing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ferrograd._kit import public as _public

__all__ = ["mark", "range", "range_pop", "range_push"]


def mark(msg: str) -> None:
    """Does nothing."""


@contextmanager
def range(msg: str, *args: object, **kwargs: object) -> Iterator[None]:
    """A context, or a decorator, that does nothing."""
    yield


def range_push(msg: str) -> int:
    """Does nothing; the depth of ranges, which is 0."""
    return 0


def range_pop() -> int:
    """Does nothing; the depth of ranges, which is 0."""
    return 0


__dir__ = _public.names(globals())
