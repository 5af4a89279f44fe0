"""``paddle.static.amp``: the context that layers of libraries open. Its other names raise where they are used."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ferrograd.paddle._base import no_static as _no_static

__all__ = ["fp16_guard"]


@contextmanager
def fp16_guard() -> Iterator[None]:
    """A context that changes nothing: it marks ops of static programs. :func:`paddle.amp.auto_cast` is for others.

    >>> import ferrograd.paddle as paddle
    >>> with paddle.static.amp.fp16_guard():
    ...     paddle.ones([1]).dtype
    paddle.float32
    """
    yield


__getattr__, __dir__ = _no_static.module_names(__name__)
