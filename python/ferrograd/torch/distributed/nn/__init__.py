"""``torch.distributed.nn``."""

from __future__ import annotations

from ferrograd._kit import public as _public
from ferrograd.torch.distributed.nn.functional import *
from ferrograd.torch.distributed.nn.functional import __all__ as __all__

__dir__ = _public.names(globals())
