"""NumPy's names. Functions with derivatives take what is differentiated; all others are NumPy's own.

>>> import ferrograd.autograd.numpy as np
>>> float(np.sum(np.ones(3)))
3.0
"""

from __future__ import annotations

from typing import Any as _Any

import numpy as _np

from ferrograd._kit import public as _public
from ferrograd.autograd.numpy import _functions, _wrapped, fft, linalg, random
from ferrograd.autograd.numpy._functions import *

__version__ = _np.__version__

_own = {name: getattr(_functions, name) for name in _functions.__all__}
_own |= {"amax": _own["max"], "amin": _own["min"], "fft": fft, "linalg": linalg, "random": random}
globals().update(_own | _wrapped.namespace(_np, _own))
row_stack = globals()["vstack"]
__all__ = [name for name in globals() if not name.startswith("_") and name != "annotations"]


def __getattr__(name: str) -> _Any:
    """Modules of NumPy's, which are passed through."""
    if name.startswith("_") or not hasattr(_np, name):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(_np, name)


__dir__ = _public.names(globals())
