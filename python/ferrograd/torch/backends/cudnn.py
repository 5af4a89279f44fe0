"""``torch.backends.cudnn``: switches of a library for GPUs. There is no GPU; they change nothing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ferrograd._kit import public as _public

__all__ = ["allow_tf32", "benchmark", "deterministic", "enabled", "flags", "is_acceptable", "is_available", "version"]

enabled = True
benchmark = False
#: Results have the same bits in every run, whatever this says.
deterministic = False
allow_tf32 = True


def is_available() -> bool:
    """False: there is no GPU."""
    return False


def version() -> None:
    """None: the library is not there."""


def is_acceptable(tensor: object) -> bool:
    """False: there is no GPU."""
    return False


@contextmanager
def flags(
    enabled: bool = False,
    benchmark: bool = False,
    benchmark_limit: int = 10,
    deterministic: bool = False,
    allow_tf32: bool = True,
    fp32_precision: str = "none",
) -> Iterator[None]:
    """A context, or a decorator, that does nothing."""
    yield


__dir__ = _public.names(globals())
