"""Where a function is computed for blocks of samples: what normalizes over all samples asks here for the blocks."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from ferrograd._core import ArgumentError

if TYPE_CHECKING:
    from ferrograd.distributed._batch_norm import Blocks

_running: ContextVar[Blocks | str | None] = ContextVar("blocks", default=None)
_APART = "apart"


class AllBlocksNeeded(ArgumentError):
    """A function that is computed for one block of samples needs all of them."""


@contextmanager
def _set(value: Any) -> Iterator[None]:
    token = _running.set(value)
    try:
        yield
    finally:
        _running.reset(token)


def apart() -> Any:
    """A context in which one block is computed apart from the others."""
    return _set(_APART)


def together(communicator: Any, level: Any, count: int, deterministic: bool) -> Any:
    """A context in which all blocks of this process are computed, as the batch of a level of ``vmap``."""
    from ferrograd.distributed._batch_norm import Blocks

    return _set(Blocks(communicator, level, count, deterministic))


def alone() -> Any:
    """The communicator of this process."""
    from ferrograd.distributed._communicator import Communicator
    from ferrograd.distributed._transport import Alone

    return Communicator(Alone())


def current() -> Blocks | None:
    """The blocks whose sums normalize; None outside of blocks.

    Raises:
        AllBlocksNeeded: one block is computed apart from the others.
    """
    found = _running.get()
    if isinstance(found, str):
        raise AllBlocksNeeded(
            "SyncBatchNorm: the statistics are those of all blocks, and a worker knows one; without executor=, or with "
            "a Communicator, all are computed at once"
        )
    return found
