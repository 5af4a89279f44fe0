"""``torch.utils.checkpoint``."""

from __future__ import annotations

from ferrograd._checkpoint import CheckpointError, checkpoint, checkpoint_sequential

__all__ = ["CheckpointError", "checkpoint", "checkpoint_sequential"]
