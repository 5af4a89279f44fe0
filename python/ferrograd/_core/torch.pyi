"""The functions of the registry, making tensors of the torch dialect.

Written by tests/project/stubs.py."""

from ferrograd._core.native import *
from ferrograd._core.native import __all__ as __all__
