"""``torch.storage``: the class of what ``Tensor.untyped_storage`` gives."""

from __future__ import annotations

import io
from importlib import import_module
from typing import Any

from ferrograd._kit import public as _public
from ferrograd.torch._base.storage import Storage as UntypedStorage

__all__ = ["TypedStorage", "UntypedStorage"]

#: The older class of memory, which knew a dtype.
TypedStorage = UntypedStorage


def _load_from_bytes(b: bytes) -> Any:
    """What ``torch.save`` has written into bytes."""
    return import_module("ferrograd.torch.serialization").load(io.BytesIO(b), weights_only=False)


__dir__ = _public.names(globals())
