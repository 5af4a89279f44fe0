"""``torch.storage``: the class of what ``Tensor.untyped_storage`` gives."""

from __future__ import annotations

from ferrograd import _public
from ferrograd.torch._framework import Storage as UntypedStorage

__all__ = ["TypedStorage", "UntypedStorage"]

#: The older class of memory, which knew a dtype.
TypedStorage = UntypedStorage


__dir__ = _public.names(globals())
