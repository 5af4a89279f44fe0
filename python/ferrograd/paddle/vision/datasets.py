"""``paddle.vision.datasets``: names of data sets, which raise where they are used."""

from __future__ import annotations

from ferrograd.paddle._base import no_static as _no_static

__all__: list[str] = []

__getattr__, __dir__ = _no_static.module_names(__name__)
