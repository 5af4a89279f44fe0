"""The debug mode: processes tell each other what they are about to call, and all raise where they differ."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import NamedTuple

from ferrograd.distributed._transport import DistributedError as DistributedError, Request, Transport

_PACKAGE = str(Path(__file__).parents[1])


class Call(NamedTuple):
    """A call that a process is about to make."""

    #: What all processes must have in common.
    name: str
    site: str
    #: What is sent, to whom it is sent and from whom something is received, where each process has partners of its own.
    sent: str = ""
    dest: int | None = None
    source: int | None = None

    def __str__(self) -> str:
        partners = f" of {self.sent} to {self.dest} and from {self.source}" if self.sent else ""
        return f"{self.name}{partners} at {self.site}"


class _Settings:
    """Whether the processes check each other, and how long each waits for the others."""

    def __init__(self) -> None:
        self.debug = os.environ.get("FERROGRAD_DISTRIBUTED_DEBUG", "0") not in ("", "0")
        self.timeout = float(os.environ.get("FERROGRAD_DISTRIBUTED_TIMEOUT", "300"))


_settings = _Settings()


def set_debug(on: bool, timeout: float | None = None) -> None:
    """Switches the debug mode on or off, which all processes must do alike; it is off at first.

    In debug mode the processes of a communicator tell each other before each call what it is. If they differ in the
    function, in shapes, dtypes or other arguments, or in whether a gradient is recorded, all raise
    :class:`DistributedError`, which names two ranks that differ. If a process calls nothing within ``timeout`` seconds,
    the others raise too, and so does one that waits for a message. A call then takes two messages between each two
    processes. Without the debug mode a call that all make compares, in one message of 16 bytes, the function, the
    shapes, the dtypes and the arguments; all raise if they differ, and do not say where.

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


def call_site() -> str:
    """The line of the program that is running."""
    frame = sys._getframe()
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        frame = frame.f_back
    return f"{frame.f_code.co_filename}:{frame.f_lineno}"


def agree(transport: Transport, name: str, sent: str = "", dest: int | None = None, source: int | None = None) -> None:
    """Raises on all processes unless all are about to make the same call. Does nothing outside of the debug mode.

    If each process has partners of its own, what is ``sent`` must be the same for both, and they must name each other.
    """
    if _settings.debug and transport.size > 1:
        compare(transport, Call(name, call_site(), sent, dest, source))


def wait(request: Request, timeout: float | None = None) -> int:
    """Waits for a message. In debug mode, and with a ``timeout``, it does not wait forever. Returns the rank of its
    sender.
    """
    return request.wait(_settings.timeout if timeout is None and _settings.debug else timeout)


def compare(transport: Transport, call: Call, timeout: float | None = None) -> None:
    """Tells the other processes the call, and raises if one of them makes another call, or no call in time."""
    timeout = _settings.timeout if timeout is None else timeout
    heard: list[Call | None] = transport.tell(call, timeout)
    missing = [r for r, other in enumerate(heard) if other is None]
    if missing:
        raise DistributedError(
            f"rank {transport.rank} calls {call}, and within {timeout:g} s rank {missing[0]} calls nothing"
        )
    calls = [other for other in heard if other is not None]
    pairs = [(0, r) for r, other in enumerate(calls) if other.name != calls[0].name]
    for r, one in enumerate(calls if not pairs else ()):
        pairs += [(r, s) for s in (one.dest,) if s is not None and calls[s].source != r]
        pairs += [(r, s) for s in (one.source,) if s is not None and calls[s].dest != r]
        pairs += [(r, s) for s in (one.source,) if s is not None and calls[s].sent != one.sent]
    if pairs:
        a, b = sorted(pairs[0])
        raise DistributedError(f"ranks {a} and {b} differ: rank {a} calls {calls[a]}, rank {b} calls {calls[b]}")
