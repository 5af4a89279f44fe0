"""Linear algebra on matrices in the last two axes; the axes before them are a batch. All of it is differentiable.

>>> import ferrograd as fg
>>> fg.linalg.det(fg.tensor([[2.0, 1.0], [1.0, 1.0]])).item()
1.0
"""

from __future__ import annotations

from importlib import import_module as _import_module
from typing import TYPE_CHECKING as _TYPE_CHECKING
from typing import Any as _Any

from ferrograd import _public
from ferrograd.linalg._standard import *
from ferrograd.linalg._standard import __all__ as _own

# isort: split
from ferrograd._core.native.linalg import *  # type: ignore[assignment]
from ferrograd._core.native.linalg import __all__ as _ops

# isort: split
# A function of the standard replaces the core's function of the same name. Some type checkers take the first of two
# imports of a name, and others the last.
from ferrograd.linalg._standard import *

#: Functions whose module is imported when one of them is first asked for.
_LAZY = ("expm", "logm", "solve_continuous_lyapunov", "solve_sylvester", "sqrtm")

__all__ = sorted({*_ops, *_own, *_LAZY})

if _TYPE_CHECKING:
    from ferrograd.linalg._functions import *
else:

    def __getattr__(name: str) -> _Any:
        if name in _LAZY:
            return getattr(_import_module("ferrograd.linalg._functions"), name)
        raise AttributeError(f"module 'ferrograd.linalg' has no attribute {name!r}")


__dir__ = _public.names(globals())
