"""What ends all processes when one of them fails."""

from __future__ import annotations

import atexit
import sys
from types import TracebackType

from ferrograd.distributed import _check
from ferrograd.distributed._transport import Transport, abort


def end_together(world: Transport) -> None:
    """From now on an exception that ends this process ends the others too, after its traceback is printed.

    In debug mode a process that ends while others still call something is an error as well.
    """
    before = sys.excepthook

    def hook(kind: type[BaseException], error: BaseException, traceback: TracebackType | None) -> None:
        print(f"rank {world.rank} of {world.size} failed and ends the others:", file=sys.stderr)
        before(kind, error, traceback)
        sys.stdout.flush()
        sys.stderr.flush()
        abort()

    def last_check() -> None:
        if _check.is_debug():
            try:
                _check.compare(world, "nothing more", "its end")
            except _check.DistributedError as error:
                hook(type(error), error, None)

    sys.excepthook = hook
    # Registered after mpi4py's own function, so it runs before that.
    atexit.register(last_check)
