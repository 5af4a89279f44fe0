"""Checks of arguments that functions written in Python share. Each raises ``ArgumentError``."""

from __future__ import annotations

import inspect
import operator
import sys
from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, TypeVar

import numpy as np

from ferrograd import _core
from ferrograd._core import ArgumentError, IndexOutOfRange, ShapeError, Tensor
from ferrograd._kit.dialect import NATIVE, PADDLE, TORCH

F = TypeVar("F", bound=Callable[..., Any])
#: The dialects by the name of their package.
DIALECTS = {"paddle": PADDLE, "torch": TORCH}


def typed(**classes: type | tuple[type, ...]) -> Callable[[F], F]:
    """A decorator that checks the classes of arguments by name. Defaults are not checked."""

    def decorate(function: F) -> F:
        names = list(inspect.signature(function).parameters)
        checks = [(names.index(name), name, kind) for name, kind in classes.items()]

        @wraps(function)
        def checked(*args: Any, **kwargs: Any) -> Any:
            for i, name, kind in checks:
                if i >= len(args) and name not in kwargs:
                    continue
                value = args[i] if i < len(args) else kwargs[name]
                if not isinstance(value, kind):
                    kinds = kind if isinstance(kind, tuple) else (kind,)
                    wanted = " or ".join("None" if k is type(None) else k.__name__ for k in kinds)
                    raise ArgumentError(f"{function.__name__}: {name} must be a {wanted}, not {type(value).__name__}")
            return function(*args, **kwargs)

        return checked  # type: ignore[return-value]

    return decorate


def tensor(value: object, function: str, name: str) -> Any:
    """The value; raises unless it is a tensor."""
    if not isinstance(value, Tensor):
        raise ArgumentError(f"{function}: {no_tensor(value, name)}")
    return value


def no_tensor(value: object, name: str) -> str:
    """How errors describe an argument that should be a tensor. For a tensor of another package they name the
    package.
    """
    foreign = _core.foreign_tensor(value, name, _dialect_of_caller())
    return foreign or f"{name} must be a Tensor, not {type(value).__name__}"


def kind_of(value: object, full: bool = False) -> str:
    """What a value is, for the end of an error: its class, and for a tensor of another package the package.

    With ``full`` the class is shown as PyTorch shows it, with its module.
    """
    foreign: str | None = _core.foreign_tensor(value, "", _dialect_of_caller())
    if foreign is not None:
        return foreign.partition(", not ")[2]
    return str(type(value)) if full else type(value).__name__


def _dialect_of_caller() -> int:
    """The dialect whose function the user called, which the frames of the package tell."""
    frame = sys._getframe(1)
    while frame is not None:
        module = frame.f_globals.get("__name__", "").split(".")
        if module[0] != "ferrograd":
            break
        if len(module) > 1 and module[1] in DIALECTS:
            return DIALECTS[module[1]]
        frame = frame.f_back  # type: ignore[assignment]
    return NATIVE


def integer(value: Any, function: str, name: str) -> int:
    """A number or a tensor of one element as an int."""
    try:
        return int(value)
    except (TypeError, ValueError, OverflowError):
        raise ArgumentError(f"{function}: {name} must be an int, not {value!r:.60}") from None


def sizes(layer: object, **named: Any) -> None:
    """Raises unless each size of a layer is an integer."""
    for name, size in named.items():
        if not hasattr(size, "__index__"):
            raise ArgumentError(f"{type(layer).__name__}: {name} is an integer, not {size!r:.40}")


def truth(value: Any, function: str, name: str) -> bool:
    """The truth value ``value``. Raises for what only has one."""
    if not isinstance(value, bool | np.bool_):
        raise ArgumentError(f"{function}: {name} is True or False, not {type(value).__name__}")
    return bool(value)


def integers(values: Any, function: str, name: str) -> list[int]:
    """The values of a list, tuple or tensor as ints."""
    if not isinstance(values, list | tuple | Tensor):
        raise ArgumentError(f"{function}: {name} must be a list of ints, not {type(values).__name__}")
    return [integer(v, function, name) for v in values]


def pairs(values: Any, function: str, name: str) -> list[tuple[int, int]]:
    """A flat list of ints as pairs: ``[1, 2, 3, 4]`` is ``[(1, 2), (3, 4)]``."""
    flat = integers(values, function, name)
    if len(flat) % 2:
        raise ArgumentError(f"{function}: {name} must have a pair for each axis, not {len(flat)} numbers")
    return list(zip(flat[::2], flat[1::2], strict=True))


def axis(value: Any, function: str, ndim: int) -> int:
    """An axis of a tensor with ``ndim`` axes, counted from 0. Raises ``IndexOutOfRange`` where there is none."""
    i = integer(value, function, "axis")
    if not -ndim <= i < ndim:
        raise IndexOutOfRange(f"{function}: axis {i} is out of range for {ndim} dimensions")
    return i % ndim


def axes_of_size_one(x: Any, function: str, axes: Any) -> list[int]:
    """The axes of ``x`` among ``axes`` that have size 1. Axes out of range stay: the op refuses them."""
    sizes = tensor(x, function, "x").shape
    axes = axes.tolist() if isinstance(axes, Tensor) else axes
    given = integers(axes, function, "axis") if isinstance(axes, list | tuple) else [integer(axes, function, "axis")]
    return [i for i in given if not -len(sizes) <= i < len(sizes) or sizes[i] == 1]


def axes_or_all(axes: Any) -> Any:
    """The axes of a reduction: None, which is all of them, where the list is empty."""
    return None if isinstance(axes, list | tuple) and not axes else axes


def output_sizes(own: Sequence[int], given: Any) -> Any:
    """The sizes ``given``, with None replaced by the size of the input, ``own``."""
    if given is None:
        return own
    if not isinstance(given, list | tuple) or len(given) != len(own):
        return given
    return [n if size is None else size for size, n in zip(given, own, strict=True)]


def formula(operands: Sequence[Any]) -> Sequence[Any]:
    """The arguments of ``einsum`` as text and operands; the axes may be lists: ``x, [0, 1], y, [1, 2], [0, 2]``."""
    if not operands or isinstance(operands[0], str):
        return operands
    letters = dict(enumerate(map(chr, (*range(ord("A"), ord("Z") + 1), *range(ord("a"), ord("z") + 1)))))

    def text(axes: Any) -> str:
        try:
            return "".join("..." if axis is ... else letters[operator.index(axis)] for axis in axes)
        except (TypeError, KeyError):
            raise ArgumentError(f"einsum: axes are a list of ints below {len(letters)}, not {axes!r:.60}") from None

    result = f"->{text(operands[-1])}" if len(operands) % 2 else ""
    end = len(operands) // 2 * 2
    return ",".join(map(text, operands[1:end:2])) + result, *operands[:end:2]


def images(what: str, x: Tensor, rank: int) -> None:
    """Raises for images of ``rank`` axes, alone or in a batch, that have no elements. The batch may be empty."""
    if x.ndim in (rank, rank + 1) and 0 in x.shape[x.ndim - rank :]:
        raise ShapeError(
            f"{what}: Expected {rank}D or {rank + 1}D (batch mode) tensor with possibly 0 batch size and other "
            f"non-zero dimensions for input, but got: {list(x.shape)}"
        )


def no_empty_axes(what: str, x: Tensor) -> None:
    """Raises where an axis but the first, which is that of the batch, has no elements."""
    if 0 in x.shape[1:]:
        raise ShapeError(
            f"{what}: Expected input to have non-zero size for non-batch dimensions, but input has sizes "
            f"{list(x.shape)}"
        )
