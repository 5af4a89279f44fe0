"""Registers hooks of all modules."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ferrograd._layers.global_hooks import (
    Hooks,
    always_called,
    backward,
    backward_pre,
    forward,
    forward_pre,
    full_backward,
    registration,
    takes_kwargs,
)
from ferrograd._layers.hooks import RemovableHandle, add

__all__ = [
    "register_module_backward_hook",
    "register_module_buffer_registration_hook",
    "register_module_forward_hook",
    "register_module_forward_pre_hook",
    "register_module_full_backward_hook",
    "register_module_full_backward_pre_hook",
    "register_module_module_registration_hook",
    "register_module_parameter_registration_hook",
]


def register_module_forward_pre_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Calls ``hook(module, args)`` before every call of any module; it may return other arguments."""
    return add(forward_pre, hook)


def register_module_forward_hook(
    hook: Callable[..., Any], *, with_kwargs: bool = False, always_call: bool = False
) -> RemovableHandle:
    """Calls ``hook(module, args, output)`` after every call of any module; it may return another output.

    >>> import ferrograd.torch as torch
    >>> seen = []
    >>> register = torch.nn.modules.module.register_module_forward_hook
    >>> with register(lambda module, args, output: seen.append(type(module).__name__)):
    ...     _ = torch.nn.Sequential(torch.nn.ReLU())(torch.ones(1))
    >>> seen
    ['ReLU', 'Sequential']
    """
    flags = [takes_kwargs] if with_kwargs else []
    return add(forward, hook, *flags, *([always_called] if always_call else []))


def _backward_kind(full: bool) -> Hooks:
    if backward if full else full_backward:
        raise RuntimeError(
            "Cannot use both regular backward hooks and full backward hooks as a global Module hook. Please use only "
            "one of them."
        )
    return full_backward if full else backward


def register_module_backward_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Calls ``hook(module, grad_input, grad_output)`` with the gradients of the last op of each module only."""
    return add(_backward_kind(False), hook)


def register_module_full_backward_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Calls ``hook(module, grad_input, grad_output)`` of any module; it may return another grad_input."""
    return add(_backward_kind(True), hook)


def register_module_full_backward_pre_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Calls ``hook(module, grad_output)`` of any module before gradients go through; it may return another one."""
    return add(backward_pre, hook)


def register_module_buffer_registration_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Calls ``hook(module, name, buffer)`` when a module gets a buffer; it may return another one."""
    return add(registration["buffer"], hook)


def register_module_module_registration_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Calls ``hook(module, name, submodule)`` when a module gets another one; it may return another one."""
    return add(registration["module"], hook)


def register_module_parameter_registration_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Calls ``hook(module, name, parameter)`` when a module gets a parameter; it may return another one."""
    return add(registration["parameter"], hook)
