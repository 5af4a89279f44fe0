"""``torch.utils.checkpoint``."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any, TypeVar

from ferrograd._autograd import checkpoint as _checkpoint
from ferrograd._autograd.checkpoint import CheckpointError, set_option
from ferrograd._core import ArgumentError, require_grad
from ferrograd._kit import public as _public
from ferrograd.torch._base import warned as _warned
from ferrograd.torch._tensor import Tensor
from ferrograd.torch.utils._selective import (
    CheckpointPolicy,
    SelectiveCheckpointContext,
    _CachedTorchDispatchMode as _CachedTorchDispatchMode,
    _CachingTorchDispatchMode as _CachingTorchDispatchMode,
    create_selective_checkpoint_contexts,
)

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

T = TypeVar("T")


def checkpoint(
    function: Callable[..., T], *args: Any, use_reentrant: bool | None = None, early_stop: bool = True, **kwargs: Any
) -> T:
    """See :func:`ferrograd.checkpoint`. With ``use_reentrant=False`` the second run stops early, as in PyTorch.

    >>> import ferrograd.torch as torch
    >>> x = torch.tensor([0.5], requires_grad=True)
    >>> y = torch.utils.checkpoint.checkpoint(lambda x: x.sin().exp(), x, use_reentrant=False)
    >>> torch.allclose(torch.autograd.grad(y, x)[0], x.cos() * y)
    True
    """
    __tracebackhide__ = True
    if use_reentrant is None:
        _warned.use_reentrant("torch.utils.checkpoint")
    return _checkpoint.checkpoint(function, *args, early_stop=early_stop and use_reentrant is False, **kwargs)


def checkpoint_sequential(
    functions: Any, segments: int, input: Any, use_reentrant: bool | None = None, **kwargs: Any
) -> Any:
    """See :func:`ferrograd.checkpoint_sequential`.

    >>> import ferrograd.torch as torch
    >>> x = torch.tensor([0.5], requires_grad=True)
    >>> y = torch.utils.checkpoint.checkpoint_sequential([torch.sin, torch.exp], 2, x, use_reentrant=False)
    >>> torch.equal(y, x.sin().exp())
    True
    """
    if use_reentrant is None:
        _warned.use_reentrant("torch.utils.checkpoint.checkpoint_sequential")
    return _checkpoint.checkpoint_sequential(functions, segments, input, use_reentrant, **kwargs)


def noop_context_fn() -> tuple[nullcontext[None], nullcontext[None]]:
    """Two contexts that do nothing."""
    return nullcontext(), nullcontext()


def set_checkpoint_early_stop(enable: bool) -> AbstractContextManager[None]:
    """A context whose checkpoints end their second run when all inner arrays are there, or run it to its end."""
    return set_option("early_stop", enable)


def set_checkpoint_debug_enabled(enabled: bool | None) -> AbstractContextManager[None]:
    """A context that decides for its checkpoints whether errors list what both runs saved; None leaves it to them."""
    return set_option("debug", enabled)


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
    return tuple(require_grad(x.detach(), x.requires_grad) if isinstance(x, Tensor) else x for x in inputs)


__dir__ = _public.names(globals())
