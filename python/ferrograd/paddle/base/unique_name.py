"""``paddle.base.unique_name``: ``paddle.utils.unique_name`` under its inner address."""

from __future__ import annotations

from ferrograd._kit import public as _public
from ferrograd.paddle.utils.unique_name import generate, guard, switch

__all__ = ["generate", "guard", "switch"]

__dir__ = _public.names(globals())
