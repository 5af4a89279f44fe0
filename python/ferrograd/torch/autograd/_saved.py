"""Hooks on saved tensors that get torch tensors."""

from __future__ import annotations

from ferrograd._autograd import saved_tensors as _saved_tensors
from ferrograd._autograd.saved_tensors import disable_saved_tensors_hooks
from ferrograd._kit.dialect import TORCH

__all__ = ["disable_saved_tensors_hooks", "save_on_cpu", "saved_tensors_hooks"]


class saved_tensors_hooks(_saved_tensors.saved_tensors_hooks):
    """See :class:`ferrograd.saved_tensors_hooks`."""

    _dialect = TORCH


class save_on_cpu(_saved_tensors.save_on_cpu):
    """See :class:`ferrograd.save_on_cpu`."""

    _dialect = TORCH
