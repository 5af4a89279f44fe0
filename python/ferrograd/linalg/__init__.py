"""Linear algebra on matrices in the last two axes; the axes before them are a batch. All of it is differentiable.

>>> import ferrograd as fg
>>> fg.linalg.det(fg.tensor([[2.0, 1.0], [1.0, 1.0]])).item()
1.0
"""

from __future__ import annotations

from importlib import import_module as _import_module
from typing import TYPE_CHECKING as _TYPE_CHECKING, Any as _Any

from ferrograd._kit import public as _public
from ferrograd.linalg._array_api import *
from ferrograd.linalg._array_api import __all__ as _own

# isort: split
from ferrograd._core.native.linalg import *  # type: ignore[assignment]
from ferrograd._core.native.linalg import __all__ as _ops

# isort: split
# A function of the standard replaces the core's function of the same name. Some type checkers take the first of two
# imports of a name, and others the last.
from ferrograd.linalg._array_api import *

#: Functions whose module is imported when one of them is first asked for, by the name of the module.
_LAZY = {
    "expm": "_matrix_functions",
    "logm": "_matrix_functions",
    "matrix_exph": "_hermitian",
    "matrix_inv_sqrth": "_hermitian",
    "matrix_logh": "_hermitian",
    "matrix_powerh": "_hermitian",
    "solve_continuous_lyapunov": "_matrix_functions",
    "solve_sylvester": "_matrix_functions",
    "sqrtm": "_matrix_functions",
}

__all__ = sorted({*_ops, *_own, *_LAZY})

if _TYPE_CHECKING:
    from ferrograd.linalg._hermitian import *
    from ferrograd.linalg._matrix_functions import *
else:

    def __getattr__(name: str) -> _Any:
        if name in _LAZY:
            globals()[name] = getattr(_import_module(f"ferrograd.linalg.{_LAZY[name]}"), name)
            _public.owned(globals(), [name])
            return globals()[name]
        raise AttributeError(f"module 'ferrograd.linalg' has no attribute {name!r}")


__dir__ = _public.names(globals())
