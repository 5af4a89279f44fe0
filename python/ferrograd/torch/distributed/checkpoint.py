"""``torch.distributed.checkpoint``: checkpoints that several processes write together, and any number of them read."""

from __future__ import annotations

import os
from typing import Any

from ferrograd._core import ArgumentError, Tensor
from ferrograd._kit import public as _public, tree as _tree
from ferrograd._kit.dialect import TORCH
from ferrograd.distributed import _files
from ferrograd.distributed._communicator import Communicator, world
from ferrograd.torch._base.process_groups import GroupMember, ProcessGroup

__all__ = ["load", "save"]


def _communicator(group: ProcessGroup | None) -> Communicator:
    chosen = GroupMember.WORLD if group is None else group
    return world() if chosen is None else chosen.communicator


def save(
    state_dict: dict[str, Any],
    *,
    checkpoint_id: str | os.PathLike[str],
    process_group: ProcessGroup | None = None,
) -> None:
    """Writes a state that all processes have alike, into the folder ``checkpoint_id``.

    The folder has the whole old checkpoint until it has the whole new one. See :func:`ferrograd.distributed.save`.
    """
    _files.save(checkpoint_id, dict(state_dict), _communicator(process_group))


def load(
    state_dict: dict[str, Any],
    *,
    checkpoint_id: str | os.PathLike[str],
    process_group: ProcessGroup | None = None,
) -> None:
    """Reads the values of ``state_dict`` from a checkpoint: tensors in place, other values as they were saved.

    Raises:
        ArgumentError: the checkpoint lacks a key, or a tensor has another shape.
    """
    _filled(state_dict, _files.load(checkpoint_id, _communicator(process_group), dialect=TORCH), "")


def _filled(state: Any, saved: Any, at: str) -> Any:
    """The value with the saved one in its place."""
    if isinstance(state, Tensor):
        if not isinstance(saved, Tensor) or tuple(saved.shape) != tuple(state.shape):
            raise ArgumentError(f"load: {at} is not a tensor of shape {list(state.shape)} in the checkpoint")
        state.detach().copy_(saved)
        return state
    if isinstance(state, dict):
        for key in state:
            if not isinstance(saved, dict) or key not in saved:
                raise ArgumentError(f"load: the checkpoint has no {at}[{key!r}]")
            state[key] = _filled(state[key], saved[key], f"{at}[{key!r}]")
        return state
    if isinstance(state, (list, tuple)) and _tree.leaves(state):
        if not isinstance(saved, (list, tuple)) or len(saved) != len(state):
            raise ArgumentError(f"load: {at} does not have {len(state)} entries in the checkpoint")
        return type(state)(_filled(a, b, f"{at}[{i}]") for i, (a, b) in enumerate(zip(state, saved, strict=True)))
    return saved


__dir__ = _public.names(globals())
