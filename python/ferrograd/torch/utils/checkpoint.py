"""``torch.utils.checkpoint``."""

from __future__ import annotations

import enum
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

from ferrograd._autograd.checkpoint import CheckpointError, checkpoint, checkpoint_sequential
from ferrograd._core import ArgumentError
from ferrograd._kit import public as _public
from ferrograd.torch._tensor import Tensor

__all__ = [
    "CheckpointError",
    "CheckpointPolicy",
    "SelectiveCheckpointContext",
    "checkpoint",
    "checkpoint_sequential",
    "create_selective_checkpoint_contexts",
    "detach_variable",
    "get_device_states",
    "noop_context_fn",
    "set_checkpoint_debug_enabled",
    "set_checkpoint_early_stop",
    "set_device_states",
]


class CheckpointPolicy(enum.Enum):
    """What a policy says of an op."""

    MUST_SAVE = 0
    PREFER_SAVE = 1
    MUST_RECOMPUTE = 2
    PREFER_RECOMPUTE = 3


class SelectiveCheckpointContext:
    """What a policy gets as its first argument: ``is_recompute`` says in which of the two runs it is."""

    def __init__(self, *, is_recompute: bool) -> None:
        self.is_recompute = is_recompute


def create_selective_checkpoint_contexts(
    policy_fn_or_list: Callable[..., Any] | list[Any], allow_cache_entry_mutation: bool = False
) -> tuple[nullcontext[None], nullcontext[None]]:
    """Two contexts that do nothing: whatever the policy says, all is recomputed, which gives the same gradients.

    >>> import functools
    >>> import ferrograd.torch as torch
    >>> from ferrograd.torch.utils.checkpoint import checkpoint, create_selective_checkpoint_contexts
    >>> contexts = functools.partial(create_selective_checkpoint_contexts, [torch.ops.aten.mm.default])
    >>> x = torch.ones(2, 2, requires_grad=True)
    >>> checkpoint(lambda x: (x @ x).sum(), x, use_reentrant=False, context_fn=contexts).item()
    8.0
    """
    if not callable(policy_fn_or_list) and not isinstance(policy_fn_or_list, list):
        raise TypeError("policy_fn_or_list must be either a function or a list of ops.")
    return noop_context_fn()


def noop_context_fn() -> tuple[nullcontext[None], nullcontext[None]]:
    """Two contexts that do nothing."""
    return nullcontext(), nullcontext()


def set_checkpoint_early_stop(enable: bool) -> nullcontext[None]:
    """A context that does nothing: a recomputation always runs to its end."""
    return nullcontext()


def set_checkpoint_debug_enabled(enabled: bool | None) -> nullcontext[None]:
    """A context that does nothing: errors always say how the two runs differ."""
    return nullcontext()


def get_device_states(*args: Any) -> tuple[list[int], list[Tensor]]:
    """The devices of the arguments other than the CPU, and the states of their generators: there are none.

    >>> import ferrograd.torch as torch
    >>> torch.utils.checkpoint.get_device_states(torch.ones(2))
    ([], [])
    """
    return [], []


def set_device_states(devices: list[int], states: list[Tensor], *, device_type: str | None = None) -> None:
    """Puts back what :func:`get_device_states` gave, which is nothing.

    >>> import ferrograd.torch as torch
    >>> torch.utils.checkpoint.set_device_states([], [])
    """
    if devices or states:
        raise ArgumentError("set_device_states: the CPU is the only device; its state is that of set_rng_state")


def detach_variable(inputs: tuple[Any, ...]) -> tuple[Any, ...]:
    """The arguments, with each tensor replaced by a leaf with the same ``requires_grad``."""
    if not isinstance(inputs, tuple):
        raise ArgumentError(
            f"detach_variable: Only tuple of tensors is supported. Got Unsupported input type: {type(inputs).__name__}"
        )
    return tuple(x.detach().requires_grad_(x.requires_grad) if isinstance(x, Tensor) else x for x in inputs)


__dir__ = _public.names(globals())
