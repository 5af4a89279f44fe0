"""Pools of maxima whose windows lie at places of their own (B. Graham, 2015), and the reverse of pools of maxima."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ferrograd import _core
from ferrograd._core import ArgumentError, ShapeError, Tensor, native as ops
from ferrograd._kit import arguments as _arguments
from ferrograd._kit.dialect import dialect_of


def largest(x: Tensor, along: Sequence[Any]) -> tuple[Any, Any]:
    """The largest element of each window over the last axes, and its flat position.

    For each of these axes there is an array [..., windows, elements] of places. The axes before it are as many as those
    of ``x`` before the pooled ones; they broadcast.
    """
    axes = len(along)
    lead, sizes = tuple(x.shape[:-axes]), x.shape[-axes:]
    places: Any = 0
    for i, (n, taken) in enumerate(zip(sizes, along, strict=True)):
        own = [1] * (2 * axes)
        own[i], own[axes + i] = taken.shape[-2:]
        taken = _core.make(np.asarray(taken, np.int64), None, False, dialect_of(x))
        places = places * n + ops.reshape(taken, [*taken.shape[:-2], *own])
    wanted, count = places.shape[-2 * axes : -axes], math.prod(places.shape[-axes:])
    total = math.prod(wanted) * count
    index = ops.broadcast_to(ops.reshape(places, [*places.shape[: -2 * axes], total]), [*lead, total])
    rows = ops.reshape(x, [*lead, math.prod(sizes)])
    windows = [*lead, math.prod(wanted), count]
    best = ops.argmax(ops.reshape(ops.take_along_axis(rows.detach(), index, -1), windows), -1)
    found = ops.take_along_axis(ops.reshape(index, windows), ops.expand_dims(best, -1), -1)[..., 0]
    shape = [*lead, *wanted]
    return ops.reshape(ops.take_along_axis(rows, found, -1), shape), ops.reshape(found, shape)


def max_unpool(
    x: Tensor, indices: Tensor, kernel_size: Any, stride: Any, padding: Any, output_size: Any, axes: int
) -> Any:
    """Zeros with the elements of ``x`` at flat positions in their channel, for some number of spatial axes.

    ``output_size`` is that of the input of the pool, if several are possible.
    """
    function = f"max_unpool{axes}d"
    shape = _arguments.tensor(x, function, "input").shape
    if list(_arguments.tensor(indices, function, "indices").shape) != list(shape):
        raise ShapeError(f"{function}: indices of shape {list(indices.shape)} for elements of shape {list(shape)}")

    if len(shape) < axes + 1:
        raise ShapeError(f"{function}: the input has {axes + 1} axes or more, not the shape {list(shape)}")

    def each(value: Any, name: str) -> list[int]:
        found = list(value) if isinstance(value, list | tuple) else [value] * axes
        if len(found) != axes:
            raise ArgumentError(f"{function}: {name} is one number or {axes}, not {found}")
        return found

    window, pads = each(kernel_size, "kernel_size"), each(padding, "padding")
    steps = window if stride is None else each(stride, "stride")
    sizes = [(m - 1) * s + k - 2 * p for m, s, k, p in zip(shape[-axes:], steps, window, pads, strict=True)]
    if output_size is not None:
        wanted = each(list(output_size)[-axes:], "output_size")
        for axis, (size, usual, step) in enumerate(zip(wanted, sizes, steps, strict=True)):
            if not usual - step < size < usual + step:
                raise ArgumentError(
                    f'invalid output_size "{output_size}" (dim {axis} must be between {usual - step} and '
                    f"{usual + step})"
                )
        sizes = wanted
    outer = list(shape[:-axes])
    flat = ops.broadcast_to(ops.zeros_like(ops.sum(x[..., :1], list(range(-axes, 0)))), outer)
    zeros = ops.broadcast_to(ops.expand_dims(flat, -1), [*outer, math.prod(sizes)])
    values, places = (ops.reshape(part, [*outer, math.prod(shape[-axes:])]) for part in (x, indices))
    try:
        found = _core.from_zero(ops.scatter, zeros, -1, places, values)
    except IndexError as error:
        text = str(error).partition("\n")[0].removeprefix(f"{function}: ")
        raise type(error)(f"{function}: Found an invalid max index: {text}, the pixels of {sizes}") from None
    return ops.reshape(found, [*outer, *sizes])
