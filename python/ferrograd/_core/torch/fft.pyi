"""The same functions, for torch.

Written by tests/project/stubs.py."""

from ferrograd._core.native.fft import *
from ferrograd._core.native.fft import __all__ as __all__
