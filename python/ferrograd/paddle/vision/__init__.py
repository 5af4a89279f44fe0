"""``paddle.vision``: networks for images, changes of images, and functions on boxes."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from ferrograd._kit import public as _public
from ferrograd.paddle.vision import ops, transforms
from ferrograd.paddle.vision.transforms import Compose

__all__ = ["Compose", "models", "ops", "transforms"]


def __getattr__(name: str) -> Any:
    if name in ("datasets", "models"):
        return import_module(f"{__name__}.{name}")
    raise AttributeError(
        f"module 'ferrograd.paddle.vision' has no attribute {name!r}: data sets and files of images are no part of "
        "the library: read them in a paddle.io.Dataset"
    )


__dir__ = _public.names(globals())
