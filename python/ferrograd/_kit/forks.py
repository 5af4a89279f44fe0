"""Forks. The child has one thread, so a lock that another thread of the parent held would stay locked in the child for
ever.
"""

from __future__ import annotations

import _thread
import importlib
import os
import time
import weakref
from collections.abc import Iterator
from typing import Any

#: Seconds after which a process forks in the middle of an import.
_PATIENCE = 10.0

_locks: weakref.WeakSet[Lock] = weakref.WeakSet()


class Lock:
    """A lock that its thread may take again. In the child of a fork no thread has it but the one that forked."""

    __slots__ = ("__weakref__", "_lock", "was_lost")

    def __init__(self) -> None:
        self._lock = _thread.RLock()
        #: Whether a thread that a fork has left behind had the lock: what it did is half done.
        self.was_lost = False
        _locks.add(self)

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        """Takes the lock. False where another thread has it for so long."""
        return self._lock.acquire(blocking, timeout)

    def release(self) -> None:
        """Gives the lock back."""
        self._lock.release()

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(self, *exc_info: object) -> None:
        self._lock.release()

    def _renew(self) -> None:
        if self._lock.acquire(blocking=False):
            self._lock.release()
            return
        self._lock = _thread.RLock()
        self.was_lost = True


def _finish_imports() -> None:
    """Waits for imports of this library by other threads: a child would wait for ever for half a module."""
    # By name: what a thread holds that imports the module.
    held: dict[str, Any] = getattr(importlib._bootstrap, "_module_locks", {})
    end = time.monotonic() + _PATIENCE

    def others() -> Iterator[str]:
        for name, reference in list(held.items()):
            owner = getattr(reference(), "owner", None)
            if name.partition(".")[0] == "ferrograd" and owner not in {None, _thread.get_ident()}:
                yield name

    while any(others()) and time.monotonic() < end:
        time.sleep(0.001)


def _renew_locks() -> None:
    for lock in list(_locks):
        lock._renew()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_finish_imports, after_in_child=_renew_locks)
