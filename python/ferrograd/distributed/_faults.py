"""What ends all processes when one of them fails."""

from __future__ import annotations

import atexit
import os
import sys
from types import TracebackType

from ferrograd.distributed import _debug
from ferrograd.distributed._transport import Mpi, Watch, abort


def end_together(world: Mpi) -> None:
    """From now on an exception that ends this process ends the others too, after its traceback is printed.

    A process that ends as usual, or by ``sys.exit``, ends those that wait for it. In debug mode it is an error that a
    process ends while others still call something.
    """
    before, watch, process = sys.excepthook, Watch(world), os.getpid()

    def hook(kind: type[BaseException], error: BaseException, traceback: TracebackType | None) -> None:
        if os.getpid() != process:
            # A process that fork() has made is no rank.
            before(kind, error, traceback)
            return
        print(f"rank {world.rank} of {world.size} failed and ends the others:", file=sys.stderr)
        before(kind, error, traceback)
        sys.stdout.flush()
        sys.stderr.flush()
        abort()

    def last_check() -> None:
        if os.getpid() != process:
            return
        if _debug.is_debug():
            try:
                _debug.compare(world, _debug.Call("nothing more", "its end"))
            except _debug.DistributedError as error:
                hook(type(error), error, None)
        watch.end()

    sys.excepthook = hook
    # Registered after mpi4py's own function, so it runs before that.
    atexit.register(last_check)
