"""Hooks on saved tensors, which see torch's tensors."""

from __future__ import annotations

from ferrograd import _saved
from ferrograd._saved import disable_saved_tensors_hooks

__all__ = ["disable_saved_tensors_hooks", "save_on_cpu", "saved_tensors_hooks"]

TORCH = 2


class saved_tensors_hooks(_saved.saved_tensors_hooks):
    """See :class:`ferrograd.saved_tensors_hooks`."""

    _dialect = TORCH


class save_on_cpu(_saved.save_on_cpu):
    """See :class:`ferrograd.save_on_cpu`."""

    _dialect = TORCH
