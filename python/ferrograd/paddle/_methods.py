"""The methods that mean something else on Paddle's tensors than on the native ones."""

from __future__ import annotations

from collections.abc import Iterable
from types import ModuleType

from ferrograd._core import PaddleTensor


def install(modules: Iterable[ModuleType]) -> None:
    """Puts every public function that takes a tensor ``x`` first on Paddle's tensor class."""
    for module in modules:
        for name in module.__all__:
            function = getattr(module, name)
            code = getattr(function, "__code__", None)
            if code is not None and code.co_varnames[:1] == ("x",):
                setattr(PaddleTensor, name, function)
