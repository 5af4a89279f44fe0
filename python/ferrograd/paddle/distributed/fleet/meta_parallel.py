"""``paddle.distributed.fleet.meta_parallel``: parts of models that devices share. Its names raise where used."""

from __future__ import annotations

from ferrograd.paddle._base import no_static as _no_static

__all__: list[str] = []

__getattr__, __dir__ = _no_static.module_names(__name__)
