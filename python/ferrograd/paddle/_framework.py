"""Paddle's constants, predicates, devices and modes. The CPU is the only device."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ferrograd import _arguments, _core
from ferrograd._core import ArgumentError, ShapeError, Tensor
from ferrograd._dialects.numbers import PADDLE
from ferrograd._tensor.device import Place
from ferrograd._tensor.dtypes import finfo
from ferrograd.paddle._flags import get_flags, set_flags

__all__ = [
    "CPUPlace",
    "broadcast_shape",
    "disable_static",
    "e",
    "enable_static",
    "finfo",
    "get_device",
    "get_flags",
    "iinfo",
    "in_dynamic_mode",
    "inf",
    "is_compiled_with_cuda",
    "is_compiled_with_rocm",
    "is_compiled_with_xpu",
    "is_complex",
    "is_empty",
    "is_floating_point",
    "is_integer",
    "is_tensor",
    "nan",
    "numel",
    "pi",
    "rank",
    "set_device",
    "set_flags",
    "shape",
    "tolist",
]


#: The release whose behaviour this dialect follows.
VERSION = f"3.3.1+ferrograd.{_core.__version__}"

iinfo = np.iinfo
e = math.e
inf = math.inf
nan = math.nan
pi = math.pi


def numel(x: Tensor) -> Any:
    """The number of elements, as a 0-d tensor."""
    return _arguments.tensor(x, "numel", "x").numel()


def rank(input: Tensor) -> Any:
    """The number of axes, as a 0-d tensor."""
    return _arguments.tensor(input, "rank", "input").rank()


def shape(input: Tensor) -> Tensor:
    """The sizes of the axes, as a tensor."""
    return _core.make(list(_arguments.tensor(input, "shape", "input").shape), "int64", False, PADDLE)


def is_floating_point(x: Tensor) -> bool:
    """Whether the elements are floats."""
    return bool(_arguments.tensor(x, "is_floating_point", "x").dtype.kind == "f")


def is_integer(x: Tensor) -> bool:
    """Whether the elements are integers."""
    return bool(_arguments.tensor(x, "is_integer", "x").dtype.kind in "iu")


def is_complex(x: Tensor) -> bool:
    """Whether the elements are complex."""
    return bool(_arguments.tensor(x, "is_complex", "x").dtype.kind == "c")


def is_empty(x: Tensor, name: str | None = None) -> Tensor:
    """Whether the tensor has no elements, as a 0-d tensor."""
    return _core.make(0 in _arguments.tensor(x, "is_empty", "x").shape, "bool", False, PADDLE)


def tolist(x: Tensor) -> Any:
    """The elements as nested lists."""
    return _arguments.tensor(x, "tolist", "x").tolist()


def broadcast_shape(x_shape: Sequence[int], y_shape: Sequence[int]) -> list[int]:
    """The shape that two shapes broadcast to."""
    shapes = [tuple(_arguments.integers(s, "broadcast_shape", "shape")) for s in (x_shape, y_shape)]
    try:
        return list(np.broadcast_shapes(*shapes))
    except ValueError:
        raise ShapeError(f"broadcast_shape: {list(shapes[0])} and {list(shapes[1])} do not broadcast") from None


def is_compiled_with_cuda() -> bool:
    """False: the CPU is the only device."""
    return False


def is_compiled_with_rocm() -> bool:
    """False: the CPU is the only device."""
    return False


def is_compiled_with_xpu() -> bool:
    """False: the CPU is the only device."""
    return False


def is_tensor(x: Any) -> bool:
    """Whether an object is a tensor."""
    return isinstance(x, Tensor)


class StaticGraphError(NotImplementedError, AttributeError):
    """An attribute of ``paddle.static`` was requested."""


_static = False


def in_dynamic_mode() -> bool:
    """Whether :func:`enable_static` is not in effect. Ops always run eagerly."""
    return not _static


def disable_static(place: object = None) -> None:
    """Undoes ``enable_static``."""
    global _static
    _static = False


def enable_static() -> None:
    """Makes :func:`in_dynamic_mode` False, for scripts that switch modes.

    Ops still run eagerly, and every attribute of ``paddle.static`` raises NotImplementedError.
    """
    global _static
    _static = True


class CPUPlace(Place):
    """The CPU."""

    __slots__ = ()

    def __new__(cls) -> CPUPlace:
        """The CPU."""
        return super().__new__(cls, "cpu")


def get_device() -> str:
    """The name of the device: 'cpu'."""
    return "cpu"


def set_device(device: Any) -> Place:
    """The CPU; raises for another device."""
    if str(device).split(":")[0] not in ("cpu", "Place(cpu)"):
        raise ArgumentError(f"set_device: the CPU is the only device here, not {device}")
    return CPUPlace()
