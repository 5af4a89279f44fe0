"""A group of processes: what communications need to know of it."""

from __future__ import annotations

from functools import cached_property

from ferrograd.distributed import _check
from ferrograd.distributed._transport import Transport


class Group:
    """Processes with ranks, and the way between them."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    @property
    def rank(self) -> int:
        """The number of this process in the group."""
        return self._transport.rank

    @property
    def size(self) -> int:
        """The number of processes in the group."""
        return self._transport.size

    def __repr__(self) -> str:
        return f"{type(self).__name__}(rank={self.rank}, size={self.size})"

    @cached_property
    def _reversed(self) -> Transport:
        """The same processes in descending order."""
        found = self._transport.split(0, -self.rank)
        assert found is not None, "each process has a color"
        return found

    def _agree(self, call: str) -> None:
        _check.agree(self._transport, call)
