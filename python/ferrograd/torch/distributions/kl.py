"""``torch.distributions.kl``."""

from __future__ import annotations

from ferrograd import _public
from ferrograd._distributions.kl import *
from ferrograd._distributions.kl import __all__ as __all__

__dir__ = _public.names(globals())
