"""``torch.utils.checkpoint``."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

from ferrograd import _public
from ferrograd._autograd.checkpoint import CheckpointError, checkpoint, checkpoint_sequential
from ferrograd._core import ArgumentError
from ferrograd.torch._tensor import Tensor

__all__ = [
    "CheckpointError",
    "checkpoint",
    "checkpoint_sequential",
    "detach_variable",
    "noop_context_fn",
    "set_checkpoint_debug_enabled",
    "set_checkpoint_early_stop",
]


def noop_context_fn() -> tuple[nullcontext[None], nullcontext[None]]:
    """Two contexts that do nothing."""
    return nullcontext(), nullcontext()


def set_checkpoint_early_stop(enable: bool) -> nullcontext[None]:
    """A context that does nothing: a recomputation always runs to its end."""
    return nullcontext()


def set_checkpoint_debug_enabled(enabled: bool | None) -> nullcontext[None]:
    """A context that does nothing: errors always say how the two runs differ."""
    return nullcontext()


def detach_variable(inputs: tuple[Any, ...]) -> tuple[Any, ...]:
    """The arguments, with each tensor replaced by a leaf with the same ``requires_grad``."""
    if not isinstance(inputs, tuple):
        raise ArgumentError(
            f"detach_variable: Only tuple of tensors is supported. Got Unsupported input type: {type(inputs).__name__}"
        )
    return tuple(x.detach().requires_grad_(x.requires_grad) if isinstance(x, Tensor) else x for x in inputs)


__dir__ = _public.names(globals())
