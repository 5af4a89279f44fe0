"""What libraries read of PyTorch's compiled module while they are imported, or to report on their use."""

from __future__ import annotations

import contextlib
from typing import Any

from ferrograd import _public
from ferrograd.torch._framework import _disabled_torch_function_impl as _disabled_torch_function_impl
from ferrograd.torch._generator import Generator
from ferrograd.torch._tensor import Tensor as TensorBase

__all__ = [
    "DisableTorchFunction",
    "DisableTorchFunctionSubclass",
    "Generator",
    "SymBool",
    "SymFloat",
    "SymInt",
    "TensorBase",
    "Value",
]


class Value:
    """The class of values of TorchScript, which there are none of."""


class SymInt:
    """The class of symbolic integers, which there are none of: sizes are numbers."""


class SymFloat:
    """The class of symbolic floats, which there are none of."""


class SymBool:
    """The class of symbolic truth values, which there are none of."""


class DisableTorchFunctionSubclass(contextlib.nullcontext[None]):
    """Changes nothing: functions give plain tensors, as they do within this context in PyTorch."""


DisableTorchFunction = DisableTorchFunctionSubclass


def _log_api_usage_once(event: str) -> None:
    """Does nothing."""


def _assert_async(condition: Any, message: str = "") -> None:
    """Raises ``AssertionError`` unless the condition, a tensor with one element, holds."""
    if not condition:
        raise AssertionError(message)


def _get_tracing_state() -> None:
    """None: there is no TorchScript."""


def _are_functorch_transforms_active() -> bool:
    """False: a function computes the same inside transforms and outside."""
    return False


__dir__ = _public.names(globals())
