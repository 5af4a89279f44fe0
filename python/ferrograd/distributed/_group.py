"""A group of processes: what communications need to know of it."""

from __future__ import annotations

from functools import cached_property
from typing import Any, NoReturn, Self

from ferrograd import _core
from ferrograd._core import FerrogradError
from ferrograd.distributed import _debug
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

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: Any) -> Self:
        return self

    def __reduce__(self) -> NoReturn:
        raise FerrogradError(
            f"{type(self).__name__}: it stands for processes that compute together and cannot be pickled; call "
            "ferrograd.distributed.world() where it is needed, and save the state_dict() of a module"
        )

    def _leave_trace(self) -> None:
        """A compiled function would not communicate again."""
        if _core.is_tracing():
            _core.give_up_trace("it communicates")

    def _agree(self, call: str, *partners: Any) -> None:
        """Before each communication: in debug mode all make the same."""
        self._leave_trace()
        _debug.agree(self._transport, call, *partners)
