"""``torch.distributions.constraints``."""

from __future__ import annotations

from ferrograd import _public
from ferrograd._distributions.constraints import *
from ferrograd._distributions.constraints import __all__ as __all__

__dir__ = _public.names(globals())
