"""``paddle.tensor``: the functions of ``paddle`` under their second address.

>>> import ferrograd.paddle as paddle
>>> paddle.tensor.add is paddle.add
True
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import Any

import ferrograd.paddle


class _Callable(ModuleType):
    """A module that is a function too: ``paddle.tensor([1.0])`` makes a tensor, with PyTorch's arguments."""

    def __call__(
        self,
        data: Any,
        dtype: Any = None,
        device: object = None,
        requires_grad: bool = False,
        pin_memory: bool = False,
    ) -> Any:
        return ferrograd.paddle.to_tensor(data, dtype, device, not requires_grad)


sys.modules[__name__].__class__ = _Callable


def fill_constant(
    shape: Any, dtype: Any, value: Any, force_cpu: bool = False, out: Any = None, name: str | None = None
) -> Any:
    """A tensor filled with a number.

    >>> import ferrograd.paddle as paddle
    >>> paddle.tensor.fill_constant([2], "int64", 3).tolist()
    [3, 3]
    """
    made = ferrograd.paddle.full(shape, value, dtype)
    return made if out is None else ferrograd.paddle.assign(made, out)


#: Paddle has a module for each of these; programs import from it too.
_MODULES = (
    "array",
    "attribute",
    "creation",
    "logic",
    "manipulation",
    "math",
    "ops",
    "random",
    "search",
    "stat",
    "to_string",
)


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"{__name__}.{name}")
    array = import_module(f"{__name__}.array")
    if name in array.__all__:
        return getattr(array, name)
    linalg = ferrograd.paddle.linalg
    return getattr(linalg if name in linalg.__all__ and not hasattr(ferrograd.paddle, name) else ferrograd.paddle, name)


def __dir__() -> list[str]:
    return dir(ferrograd.paddle)
