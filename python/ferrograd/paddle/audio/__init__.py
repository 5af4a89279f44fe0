"""``paddle.audio``: features of sounds. Files of sounds and data sets are no part of the library."""

from __future__ import annotations

from typing import NoReturn

from ferrograd._kit import public as _public
from ferrograd.paddle.audio import features, functional

__all__ = ["features", "functional"]


def __getattr__(name: str) -> NoReturn:
    raise AttributeError(
        f"module 'ferrograd.paddle.audio' has no attribute {name!r}: files of sounds and data sets are no part of the "
        "library: read them with scipy.io.wavfile or the like"
    )


__dir__ = _public.names(globals())
