"""``torch.utils``."""

from __future__ import annotations

from importlib import import_module as _import_module
from typing import TYPE_CHECKING as _TYPE_CHECKING, Any as _Any

from ferrograd._kit import public as _public
from ferrograd.torch.utils import checkpoint, data
from ferrograd.torch.utils._swap import swap_tensors

__all__ = ["checkpoint", "data", "swap_tensors"]

swap_tensors.__module__ = __name__

#: Modules that are imported when they are first asked for.
_LAZY = {"_pytree", "benchmark", "dlpack", "hooks", "model_zoo", "tensorboard"}

if not _TYPE_CHECKING:

    def __getattr__(name: str) -> _Any:
        if name in _LAZY:
            return _import_module(f"ferrograd.torch.utils.{name}")
        raise AttributeError(f"module 'ferrograd.torch.utils' has no attribute {name!r}")

    _public.names(globals())

    def __dir__() -> list[str]:
        return sorted({*__all__, *_LAZY} - {"_pytree"})
