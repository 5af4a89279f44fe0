"""What libraries read of PyTorch's compiled module while they are imported, or to report on their use."""

from __future__ import annotations

import contextlib
import types
from typing import Any

from ferrograd import _core, _public
from ferrograd._core import FerrogradError
from ferrograd._tensor import dtypes
from ferrograd._tensor.device import TorchDevice
from ferrograd.func import _control as control
from ferrograd.torch._framework import _disabled_torch_function_impl as _disabled_torch_function_impl
from ferrograd.torch._generator import Generator
from ferrograd.torch._tensor import Tensor as TensorBase

__all__ = [
    "DisableTorchFunction",
    "DisableTorchFunctionSubclass",
    "Generator",
    "PyTorchFileReader",
    "SymBool",
    "SymFloat",
    "SymInt",
    "TensorBase",
    "Value",
]


class PyTorchFileReader:
    """The class of PyTorch's reader of files. It cannot be made here: ``torch.load`` reads such files."""

    def __init__(self, *_: Any) -> None:
        raise FerrogradError("PyTorchFileReader: torch.load reads PyTorch's files")


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

#: The class of errors about matrices.
_LinAlgError = _core.LinAlgError
#: The class of the class of tensors.
_TensorMeta = type(TensorBase)


def _parse_to(*args: Any, **kwargs: Any) -> tuple[Any, Any, bool, Any]:
    """The arguments of ``Module.to``: a device, a dtype, ``non_blocking`` and a memory format."""
    device, dtype = kwargs.get("device"), kwargs.get("dtype")
    for arg in args:
        if isinstance(arg, TensorBase):
            device, dtype = arg.device, arg.dtype
        elif isinstance(arg, dtypes.dtype):
            dtype = arg
        elif not isinstance(arg, bool):
            device = arg
    _core.check_device("to", device)
    return None if device is None else TorchDevice("cpu"), dtype, False, kwargs.get("memory_format")


_nn = types.SimpleNamespace(_parse_to=_parse_to)


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
