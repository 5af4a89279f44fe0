"""``numpy.fft``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as _np

from ferrograd._kit import public as _public
from ferrograd.autograd.numpy import _wrapped

if TYPE_CHECKING:
    from numpy.fft import *

_names = _wrapped.namespace(_np.fft, {})
globals().update(_names)
__all__ = sorted(_names)

__dir__ = _public.names(globals())
