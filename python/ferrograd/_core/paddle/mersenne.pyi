"""The same functions, for paddle.

Written by tests/project/stubs.py."""

# mypy: disable-error-code=assignment
from typing import Any
from ferrograd._core import PaddleTensor
def draw(*args: Any, **options: Any) -> PaddleTensor: ...
def state(*args: Any, **options: Any) -> PaddleTensor: ...
def streams(*args: Any, **options: Any) -> PaddleTensor: ...

from ferrograd._core.native.mersenne import *
from ferrograd._core.native.mersenne import __all__ as __all__
