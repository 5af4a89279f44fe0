"""``torch.distributions.constraint_registry``."""

from __future__ import annotations

from ferrograd import _public
from ferrograd._distributions.constraint_registry import *
from ferrograd._distributions.constraint_registry import __all__ as __all__

__dir__ = _public.names(globals())
