"""The same functions, for torch.

Written by tests/project/stubs.py."""

from ferrograd._core.native import *
from ferrograd._core.native import __all__ as __all__
from . import fft as fft
from . import linalg as linalg
