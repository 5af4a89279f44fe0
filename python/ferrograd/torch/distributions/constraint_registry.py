"""``torch.distributions.constraint_registry``."""

from __future__ import annotations

from ferrograd._distributions.constraint_registry import *
from ferrograd._distributions.constraint_registry import __all__ as __all__
from ferrograd._kit import public as _public

__dir__ = _public.names(globals())
