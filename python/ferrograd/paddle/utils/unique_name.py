"""``paddle.utils.unique_name``: names with a number that no name before had."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ferrograd._kit import public as _public
from ferrograd.paddle.nn import _parameter

__all__ = ["generate", "guard", "switch"]


def generate(key: str) -> str:
    """The key with a number that no name before had.

    >>> import ferrograd.paddle as paddle
    >>> with paddle.utils.unique_name.guard("net_"):
    ...     paddle.utils.unique_name.generate("fc")
    'net_fc_0'
    """
    return _parameter.unique_name(key)


def switch(new_generator: _parameter.Names | None = None) -> _parameter.Names:
    """Numbers names from 0 again, or as ``new_generator`` does; returns what numbered them before."""
    if not isinstance(new_generator, _parameter.Names | None):
        raise TypeError(f"unique_name.switch: expected what switch gave, not {type(new_generator).__name__}")
    return _parameter.switch_names(_parameter.Names() if new_generator is None else new_generator)


@contextmanager
def guard(new_generator: str | bytes | None = None) -> Iterator[None]:
    """Numbers names from 0 while the block runs. They begin with ``new_generator``."""
    prefix = new_generator.decode() if isinstance(new_generator, bytes) else new_generator or ""
    before = switch(_parameter.Names(prefix))
    try:
        yield
    finally:
        switch(before)


__dir__ = _public.names(globals())
