"""``paddle.nn.utils.clip_grad_value_``: the module of the function of that name.

It can be called as the function, because an import of the module gives it the name of the function in its package.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from types import ModuleType
from typing import Any

from ferrograd._core import ArgumentError, Tensor
from ferrograd._kit import public as _public
from ferrograd._optim import fused as _steps

__all__ = ["clip_grad_value_"]


def clip_grad_value_(parameters: Tensor | Iterable[Tensor], clip_value: float) -> None:
    """Clips every element of the gradients to ``[-clip_value, clip_value]``, in place."""
    if not clip_value >= 0:
        raise ArgumentError(f"clip_grad_value_: clip_value must not be negative, but is {clip_value}")
    _steps.clip_value(parameters, clip_value)


class _Callable(ModuleType):
    """A module that is a function too."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return clip_grad_value_(*args, **kwargs)


sys.modules[__name__].__class__ = _Callable

__dir__ = _public.names(globals())
