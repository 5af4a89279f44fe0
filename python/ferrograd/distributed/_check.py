"""The debug mode: processes tell each other what they are about to call, and all raise where they differ."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from ferrograd._core import FerrogradError
from ferrograd.distributed._transport import Transport

_PACKAGE = str(Path(__file__).parents[1])


class DistributedError(FerrogradError, RuntimeError):
    """The processes of a communicator do not call the same, or one of them calls nothing."""

    __module__ = "ferrograd.distributed"


class _Settings:
    """Whether the processes check each other, and for how long one waits for the others."""

    def __init__(self) -> None:
        self.debug = os.environ.get("FERROGRAD_DISTRIBUTED_DEBUG", "0") not in ("", "0")
        self.timeout = float(os.environ.get("FERROGRAD_DISTRIBUTED_TIMEOUT", "300"))


_settings = _Settings()


def set_debug(on: bool, timeout: float | None = None) -> None:
    """Switches the debug mode on or off, which all processes must do alike; it is off at first.

    In debug mode the processes of a communicator tell each other before each call what it is. If they differ in the
    function, in shapes, dtypes or other arguments, or in whether a gradient is recorded, all raise
    :class:`DistributedError`, which names two ranks that differ. If a process calls nothing within ``timeout`` seconds,
    the others raise too. A call then takes two messages between each two processes.

    The environment variables ``FERROGRAD_DISTRIBUTED_DEBUG=1`` and ``FERROGRAD_DISTRIBUTED_TIMEOUT=300`` do the same.

    >>> from ferrograd import distributed
    >>> distributed.set_debug(True, timeout=60)
    >>> distributed.set_debug(False)
    """
    _settings.debug = bool(on)
    if timeout is not None:
        _settings.timeout = float(timeout)


def is_debug() -> bool:
    """Whether the debug mode is on.

    >>> from ferrograd import distributed
    >>> distributed.set_debug(False)
    >>> distributed.is_debug()
    False
    """
    return _settings.debug


def _call_site() -> str:
    """The line of the program that is running."""
    frame = sys._getframe()
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        frame = frame.f_back
    return f"{frame.f_code.co_filename}:{frame.f_lineno}"


def agree(transport: Transport, call: str) -> None:
    """Raises on all processes unless all are about to make the same call. Does nothing outside of the debug mode."""
    if _settings.debug and transport.size > 1:
        compare(transport, call, _call_site())


def compare(transport: Transport, call: str, site: str) -> None:
    """Tells the other processes the call, and raises if one of them makes another one or none."""
    heard = transport.tell(f"{call}\0{site}", _settings.timeout)
    missing = [r for r, text in enumerate(heard) if text is None]
    if missing:
        raise DistributedError(
            f"rank {transport.rank} calls {call} at {site}, and within {_settings.timeout:g} s rank {missing[0]} calls "
            "nothing"
        )
    calls = [tuple(text.split("\0")) for text in heard if text is not None]
    first = calls[0]
    for rank, other in enumerate(calls):
        if other[0] != first[0]:
            raise DistributedError(
                f"ranks 0 and {rank} differ: rank 0 calls {first[0]} at {first[1]}, rank {rank} calls {other[0]} at "
                f"{other[1]}"
            )
