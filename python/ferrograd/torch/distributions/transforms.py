"""``torch.distributions.transforms``."""

from __future__ import annotations

from ferrograd._distributions.transforms import *
from ferrograd._distributions.transforms import __all__ as __all__, _InverseTransform as _InverseTransform
from ferrograd._kit import public as _public

__dir__ = _public.names(globals())
