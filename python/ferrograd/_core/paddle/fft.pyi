"""The same functions, for paddle.

Written by tests/project/stubs.py."""

# mypy: disable-error-code=assignment
from typing import Any
from ferrograd._core import PaddleTensor
def fftfreq(*args: Any, **options: Any) -> PaddleTensor: ...
def rfftfreq(*args: Any, **options: Any) -> PaddleTensor: ...

from ferrograd._core.native.fft import *
from ferrograd._core.native.fft import __all__ as __all__
