"""``torch.backends.mkldnn``: Intel's library of layers is not used."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ferrograd._kit import public as _public

__all__ = ["enabled", "flags", "is_available"]

#: Whether a program wants it; it is not there.
enabled = False


def is_available() -> bool:
    """False: it is not used."""
    return False


@contextmanager
def flags(
    enabled: bool = False, deterministic: bool = False, allow_tf32: bool = True, fp32_precision: str = "none"
) -> Iterator[None]:
    """A context, or a decorator, that does nothing."""
    yield


__dir__ = _public.names(globals())
