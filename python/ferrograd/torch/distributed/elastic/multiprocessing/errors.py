"""``torch.distributed.elastic.multiprocessing.errors``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ferrograd._kit import public as _public

__all__ = ["record"]


def record(fn: Callable[..., Any], error_handler: Any = None) -> Callable[..., Any]:
    """The function itself: ``mpiexec`` shows the errors of its processes."""
    return fn


__dir__ = _public.names(globals())
