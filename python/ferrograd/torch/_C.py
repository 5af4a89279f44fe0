"""What libraries read of PyTorch's compiled module while they are imported, or to report on their use."""

from __future__ import annotations

import contextlib
from typing import Any

from ferrograd import _public
from ferrograd.func import _control as control
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


def _check(cond: Any, message: Any = None) -> None:
    """Raises ``RuntimeError`` with the text that ``message()`` gives unless the condition holds."""
    _checked(RuntimeError, cond, message)


def _check_index(cond: Any, message: Any = None) -> None:
    """:func:`_check` with ``IndexError``."""
    _checked(IndexError, cond, message)


def _check_value(cond: Any, message: Any = None) -> None:
    """:func:`_check` with ``ValueError``."""
    _checked(ValueError, cond, message)


def _check_type(cond: Any, message: Any = None) -> None:
    """:func:`_check` with ``TypeError``."""
    _checked(TypeError, cond, message)


def _checked(error: type[Exception], cond: Any, message: Any) -> None:
    if not cond:
        raise error(str(message()) if callable(message) else message or "Expected cond to be True, but got False.")


def _assert(condition: Any, message: Any) -> None:
    """Raises ``AssertionError`` unless the condition holds."""
    if not condition:
        raise AssertionError(message)


def sym_max(a: Any, b: Any) -> Any:
    """The larger of two numbers."""
    return max(a, b)


def sym_min(a: Any, b: Any) -> Any:
    """The smaller of two numbers."""
    return min(a, b)


def sym_int(a: Any) -> int:
    """A number as an integer, rounded towards 0."""
    return int(a)


def sym_float(a: Any) -> float:
    """A number as a float."""
    return float(a)


def sym_not(a: Any) -> bool:
    """Whether a truth value is False."""
    return not a


def cond(pred: Any, true_fn: Any, false_fn: Any, operands: Any = ()) -> Any:
    """:func:`ferrograd.func.cond` with the operands in a list or tuple."""
    return control.cond(pred, true_fn, false_fn, *operands)


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
