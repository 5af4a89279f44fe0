"""``paddle.vision``: of its parts only ``Compose``, which needs no images, and functions on boxes are here."""

from __future__ import annotations

from typing import NoReturn

from ferrograd import _public
from ferrograd.paddle.vision import ops, transforms
from ferrograd.paddle.vision.transforms import Compose

__all__ = ["Compose", "ops", "transforms"]


def __getattr__(name: str) -> NoReturn:
    raise AttributeError(
        f"module 'ferrograd.paddle.vision' has no attribute {name!r}: data sets, ready models and changes of images "
        "are no part of the library: read files in a paddle.io.Dataset"
    )


__dir__ = _public.names(globals())
