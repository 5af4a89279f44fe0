"""The methods that mean something else on Paddle's tensors than on the native ones."""

from __future__ import annotations

from collections.abc import Iterable
from types import FunctionType, ModuleType

from ferrograd._core import PaddleTensor

#: The names that Paddle gives to the tensor that a method belongs to.
FIRST = (("x",), ("input",), ("arr",))


def install(modules: Iterable[ModuleType]) -> None:
    """Puts every public function whose first parameter is a tensor, by its name, on Paddle's tensor class."""
    for module in modules:
        for name in module.__all__:
            function = getattr(module, name)
            if isinstance(function, FunctionType) and function.__code__.co_varnames[:1] in FIRST:
                setattr(PaddleTensor, name, function)
