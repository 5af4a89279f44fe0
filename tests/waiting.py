"""Waiting that ends only where something hangs, on the slowest and busiest of machines too."""

from __future__ import annotations

import time
from collections.abc import Callable

#: Seconds after which something counts as hanging. What a test waits for takes less than a twentieth of it on an idle
#: machine. Twice as long a time for a whole test stands in ``pyproject.toml``.
LONG = 900


def until(condition: Callable[[], object]) -> bool:
    """Asks again and again whether a condition is true, and returns whether it became true before ``LONG`` was over."""
    end = time.monotonic() + LONG
    while not condition():
        if time.monotonic() > end:
            return False
        # What is waited for may be in this process, or want its processor.
        time.sleep(0.01)
    return True
