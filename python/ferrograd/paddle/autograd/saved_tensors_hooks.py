"""``paddle.autograd.saved_tensors_hooks``."""

from __future__ import annotations

from ferrograd._autograd import saved_tensors as _saved_tensors
from ferrograd._kit import public as _public
from ferrograd._kit.dialect import PADDLE

__all__ = ["saved_tensors_hooks"]


class saved_tensors_hooks(_saved_tensors.saved_tensors_hooks):
    """See :class:`ferrograd.saved_tensors_hooks`."""

    _dialect = PADDLE


__dir__ = _public.names(globals())
