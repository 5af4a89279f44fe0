"""``torch.distributions.transforms``."""

from __future__ import annotations

from ferrograd import _public
from ferrograd._distributions.transforms import *
from ferrograd._distributions.transforms import __all__ as __all__
from ferrograd._distributions.transforms import _InverseTransform as _InverseTransform

__dir__ = _public.names(globals())
