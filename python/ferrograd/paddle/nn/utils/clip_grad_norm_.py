"""``paddle.nn.utils.clip_grad_norm_``: the module of the function of that name.

It can be called as the function, because an import of the module gives it the name of the function in its package.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from types import ModuleType
from typing import Any

from ferrograd._core import ArgumentError, Tensor, paddle as _ops
from ferrograd._kit import public as _public
from ferrograd._optim import fused as _steps

__all__ = ["clip_grad_norm_"]

_ORDERS = (0, 1, 2, float("inf"), "inf")


def clip_grad_norm_(
    parameters: Tensor | Iterable[Tensor], max_norm: float, norm_type: float = 2.0, error_if_nonfinite: bool = False
) -> Tensor:
    """Scales the gradients in place so that their total norm is at most ``max_norm``; returns the norm before.

    ``norm_type`` is 0, 1, 2 or infinity.

    Raises:
        ArgumentError: another ``norm_type``.
        RuntimeError: ``error_if_nonfinite``, and the norm is not finite.
    """
    if norm_type not in _ORDERS:
        raise ArgumentError(f"clip_grad_norm_: norm_type only support [inf, 0, 1, 2], not {norm_type!r:.40}")
    return _steps.clip_norm(parameters, max_norm, norm_type, error_if_nonfinite, "clip_grad_norm_", _ops)


class _Callable(ModuleType):
    """A module that is a function too."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return clip_grad_norm_(*args, **kwargs)


sys.modules[__name__].__class__ = _Callable

__dir__ = _public.names(globals())
