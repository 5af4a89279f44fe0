"""``torch.nn.attention``: torch's names for implementations of attention. This library has one implementation."""

from __future__ import annotations

import enum
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ferrograd._kit import public as _public

__all__ = ["SDPBackend", "sdpa_kernel"]


class SDPBackend(enum.IntEnum):
    """torch's implementations."""

    ERROR = -1
    MATH = 0
    FLASH_ATTENTION = 1
    EFFICIENT_ATTENTION = 2
    CUDNN_ATTENTION = 3
    OVERRIDEABLE = 4


@contextmanager
def sdpa_kernel(backends: Any, set_priority: bool = False) -> Iterator[None]:
    """A context that changes nothing: the one implementation runs."""
    for backend in backends if isinstance(backends, list | tuple) else [backends]:
        SDPBackend(backend)
    yield


__dir__ = _public.names(globals())
