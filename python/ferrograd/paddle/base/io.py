"""``paddle.base.io``: the loader of batches under an older address."""

from __future__ import annotations

from ferrograd.paddle._base import no_static as _no_static
from ferrograd.paddle.io.reader import DataLoader

__all__ = ["DataLoader"]

__getattr__, __dir__ = _no_static.module_names(__name__)
