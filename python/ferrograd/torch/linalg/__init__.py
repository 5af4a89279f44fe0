"""``torch.linalg``."""

from __future__ import annotations

from ferrograd._core import LinAlgError as LinAlgError
from ferrograd._core.torch.linalg import *
from ferrograd._core.torch.linalg import __all__ as _ops
from ferrograd._kit import public as _public

# isort: split
# torch's own replace the core's of the same name.
from ferrograd.torch.linalg._functions import *  # type: ignore[assignment]
from ferrograd.torch.linalg._functions import __all__ as _own

__all__ = sorted({*_ops, *_own, "LinAlgError"})

__dir__ = _public.names(globals())
