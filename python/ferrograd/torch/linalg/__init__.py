"""``torch.linalg``."""

from __future__ import annotations

from ferrograd import _public
from ferrograd._core import LinAlgError as LinAlgError
from ferrograd._core.torch.linalg import *
from ferrograd._core.torch.linalg import __all__ as _ops

# isort: split
# torch's own replace the core's of the same name.
from ferrograd.torch._ldl import *
from ferrograd.torch._ldl import __all__ as _ldl
from ferrograd.torch._linalg import *  # type: ignore[assignment]
from ferrograd.torch._linalg import __all__ as _own

__all__ = sorted({*_ops, *_own, *_ldl, "LinAlgError"})

__dir__ = _public.names(globals())
