"""``torch.distributed.nn``."""

from __future__ import annotations

from ferrograd.torch.distributed.nn.functional import *
from ferrograd.torch.distributed.nn.functional import __all__ as __all__
