"""``torch.utils.benchmark``: times of statements, tables of them, and random inputs."""

from __future__ import annotations

from ferrograd import _public
from ferrograd.torch.utils.benchmark.compare import *
from ferrograd.torch.utils.benchmark.compare import __all__ as _compare
from ferrograd.torch.utils.benchmark.fuzzer import *
from ferrograd.torch.utils.benchmark.fuzzer import __all__ as _fuzzer
from ferrograd.torch.utils.benchmark.timer import *
from ferrograd.torch.utils.benchmark.timer import __all__ as _timer

__all__: list[str] = []
__all__ += _compare
__all__ += _fuzzer
__all__ += _timer

__dir__ = _public.names(globals())
