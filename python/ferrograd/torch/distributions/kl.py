"""``torch.distributions.kl``."""

from __future__ import annotations

from ferrograd._distributions.kl import *
from ferrograd._distributions.kl import __all__ as __all__
from ferrograd._kit import public as _public

__dir__ = _public.names(globals())
