"""Pools of maxima whose windows lie at places of their own, which both dialects have: B. Graham (2015)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ferrograd import _core
from ferrograd._core import Tensor
from ferrograd._core import native as ops
from ferrograd._dialects.numbers import dialect_of


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
