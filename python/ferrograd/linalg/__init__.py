"""Linear algebra on matrices in the last two axes; the axes before them are a batch. All of it is differentiable.

>>> import ferrograd as fg
>>> fg.linalg.det(fg.tensor([[2.0, 1.0], [1.0, 1.0]])).item()
1.0
"""

from __future__ import annotations

from ferrograd import _public
from ferrograd.linalg import _standard
from ferrograd.linalg._functions import *
from ferrograd.linalg._functions import __all__ as _functions
from ferrograd.linalg._standard import *
from ferrograd.linalg._standard import __all__ as _own

# isort: split
from ferrograd._core.native.linalg import *  # type: ignore[assignment]
from ferrograd._core.native.linalg import __all__ as _ops

# A function of the standard replaces the core's function of the same name.
globals().update({name: getattr(_standard, name) for name in _own})

__all__ = sorted({*_ops, *_own, *_functions})

__dir__ = _public.names(globals())
