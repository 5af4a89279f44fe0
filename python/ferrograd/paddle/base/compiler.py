"""``paddle.base.compiler``: names of Paddle's static graph, which raise where they are used."""

from __future__ import annotations

from ferrograd.paddle._base import no_static as _no_static

__all__ = ["BuildStrategy"]


class BuildStrategy:
    """Options of ``paddle.jit.to_static``, which can be set and change nothing."""


__getattr__, __dir__ = _no_static.module_names(__name__)
