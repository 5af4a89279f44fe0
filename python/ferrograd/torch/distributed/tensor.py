"""``torch.distributed.tensor``: the class of tensors that are divided among processes. It has no objects here."""

from __future__ import annotations

from ferrograd._kit import public as _public

__all__ = ["DTensor"]


class DTensor:
    """The class of tensors that are divided among processes. No tensor here is one."""


__dir__ = _public.names(globals())
