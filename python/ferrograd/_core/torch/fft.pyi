"""The same functions, for torch.

Written by tests/project/stubs.py."""

# mypy: disable-error-code=assignment
from typing import Any
from ferrograd._core import TorchTensor
def fftfreq(*args: Any, **options: Any) -> TorchTensor: ...
def rfftfreq(*args: Any, **options: Any) -> TorchTensor: ...

from ferrograd._core.native.fft import *
from ferrograd._core.native.fft import __all__ as __all__
