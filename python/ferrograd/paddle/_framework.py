"""Paddle's switches and places, as far as they say anything here: the graph is dynamic and the device is the CPU."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ferrograd import _check, _core
from ferrograd._core import ArgumentError, Tensor
from ferrograd._device import Place
from ferrograd.paddle._autograd import PADDLE

__all__ = [
    "CPUPlace",
    "disable_static",
    "e",
    "enable_static",
    "finfo",
    "get_device",
    "iinfo",
    "in_dynamic_mode",
    "inf",
    "is_compiled_with_cuda",
    "is_floating_point",
    "is_tensor",
    "nan",
    "numel",
    "pi",
    "rank",
    "set_device",
    "shape",
]


#: The release whose behaviour this dialect follows.
VERSION = f"3.3.1+ferrograd.{_core.__version__}"

finfo = np.finfo
iinfo = np.iinfo
e = math.e
inf = math.inf
nan = math.nan
pi = math.pi


def numel(x: Tensor) -> Any:
    """The number of elements, as a 0-d tensor."""
    return _check.tensor(x, "numel", "x").numel()


def rank(x: Tensor) -> Any:
    """The number of axes, as a 0-d tensor."""
    return _check.tensor(x, "rank", "x").rank()


def shape(x: Tensor) -> Tensor:
    """The sizes of the axes, as a tensor."""
    return _core.make(list(_check.tensor(x, "shape", "x").shape), "int64", False, PADDLE)


def is_floating_point(x: Tensor) -> bool:
    """Whether the elements are floats."""
    return bool(_check.tensor(x, "is_floating_point", "x").dtype.kind == "f")


def is_compiled_with_cuda() -> bool:
    """False: there is the CPU only."""
    return False


def is_tensor(x: Any) -> bool:
    """Whether an object is a tensor."""
    return isinstance(x, Tensor)


def in_dynamic_mode() -> bool:
    """Whether ops run at once, which they always do."""
    return True


def disable_static(place: object = None) -> None:
    """The dynamic graph, which is always there."""


def enable_static() -> None:
    """Refused: there is no static graph."""
    raise NotImplementedError("enable_static: this library has the dynamic graph only")


def CPUPlace() -> Place:
    """The CPU."""
    return Place("cpu")


def get_device() -> str:
    """The name of the device: 'cpu'."""
    return "cpu"


def set_device(device: Any) -> Place:
    """The CPU, the only device; another one is refused."""
    if str(device).split(":")[0] not in ("cpu", "Place(cpu)"):
        raise ArgumentError(f"set_device: the CPU is the only device here, not {device}")
    return CPUPlace()
