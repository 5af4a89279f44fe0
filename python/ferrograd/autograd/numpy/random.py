"""``numpy.random``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as _np

from ferrograd._kit import public as _public
from ferrograd.autograd.numpy import _wrapped

if TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        """Any other name."""


_names = _wrapped.namespace(_np.random, {})
globals().update(_names)
__all__ = sorted(_names)

__dir__ = _public.names(globals())
