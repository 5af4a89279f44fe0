"""``torch.utils.benchmark``: times of statements, and tables of them."""

from __future__ import annotations

from ferrograd._kit import public as _public
from ferrograd.torch.utils.benchmark.compare import *
from ferrograd.torch.utils.benchmark.compare import __all__ as _compare
from ferrograd.torch.utils.benchmark.timer import *
from ferrograd.torch.utils.benchmark.timer import __all__ as _timer

__all__: list[str] = []
__all__ += _compare
__all__ += _timer

__dir__ = _public.names(globals())
