"""The same functions, for torch.

Written by tests/project/stubs.py."""

# mypy: disable-error-code=assignment
from typing import Any
from ferrograd._core import TorchTensor
def draw(*args: Any, **options: Any) -> TorchTensor: ...
def state(*args: Any, **options: Any) -> TorchTensor: ...
def streams(*args: Any, **options: Any) -> TorchTensor: ...

from ferrograd._core.native.mersenne import *
from ferrograd._core.native.mersenne import __all__ as __all__
