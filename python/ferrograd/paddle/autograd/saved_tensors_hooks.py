"""``paddle.autograd.saved_tensors_hooks``."""

from __future__ import annotations

from ferrograd import _saved

__all__ = ["saved_tensors_hooks"]

PADDLE = 1


class saved_tensors_hooks(_saved.saved_tensors_hooks):
    """See :class:`ferrograd.saved_tensors_hooks`."""

    _dialect = PADDLE
