"""Images read at places that are computed: ``grid_sample`` and ``affine_grid``, which both dialects have."""

from __future__ import annotations

import functools
import itertools
import math
import operator
from collections.abc import Sequence
from typing import Any

from ferrograd._core import ArgumentError, ShapeError, Tensor
from ferrograd._core import native as ops


def _reflected(at: Tensor, low: float, high: float) -> Tensor:
    """Places mirrored at both bounds until they lie between them."""
    if high <= low:
        return ops.zeros_like(at)
    span = high - low
    moved = ops.abs(at - low)
    turns = ops.floor(moved / span)
    rest = moved - turns * span
    return ops.where(ops.remainder(turns, 2) == 0, rest + low, span - rest + low)


def _places(at: Tensor, n: int, padding_mode: str, align_corners: bool) -> Tensor:
    """Places in [-1, 1] as places among ``n`` samples, with those outside moved as the mode says."""
    at = (at + 1) * ((n - 1) / 2) if align_corners else ((at + 1) * n - 1) / 2
    return _inside(at, n, padding_mode, align_corners)


def _inside(at: Tensor, n: int, padding_mode: str, align_corners: bool) -> Tensor:
    if padding_mode == "border":
        return ops.clamp(at, 0, n - 1)
    if padding_mode == "reflection":
        bounds = (0, n - 1) if align_corners else (-0.5, n - 0.5)
        return ops.clamp(_reflected(at, *bounds), 0, n - 1)
    return at


def _read(flat: Tensor, sizes: Sequence[int], indices: Sequence[Tensor]) -> Tensor:
    """The elements of images [batch, channels, elements] at indices of each axis; 0 outside."""
    place: Any = None
    inside: Any = None
    for n, index in zip(sizes, indices, strict=True):
        here = ops.logical_and(index >= 0, index <= n - 1)
        inside = here if inside is None else ops.logical_and(inside, here)
        # A NaN is nowhere, and then the first sample times NaN.
        whole = ops.cast(ops.where(here, index, 0.0), "int64")
        place = whole if place is None else place * n + whole
    batch, channels, _ = flat.shape
    out = list(place.shape[1:])
    rows = ops.broadcast_to(ops.reshape(place, [batch, 1, math.prod(out)]), [batch, channels, math.prod(out)])
    found = ops.reshape(ops.take_along_axis(flat, rows, 2), [batch, channels, *out])
    return ops.where(ops.expand_dims(inside, 1), found, 0.0)


def _cubic(t: Tensor) -> list[Tensor]:
    """The weights of the samples at -1, 0, 1 and 2 for a place ``t`` in [0, 1): cubic convolution with a = -0.75."""
    a = -0.75

    def near(x: Tensor) -> Tensor:
        return ((a + 2) * x - (a + 3)) * x * x + 1

    def far(x: Tensor) -> Tensor:
        return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a

    return [far(t + 1), near(t), near(1 - t), far(2 - t)]


def grid_sample(
    x: Tensor, grid: Tensor, mode: str = "bilinear", padding_mode: str = "zeros", align_corners: bool = False
) -> Tensor:
    """Images [batch, channels, …] read at the places of a grid [batch, …, axes], whose numbers run from -1 to 1.

    The last axis of the grid has the place along the last axis first. The mode is bilinear, nearest or bicubic, also of
    three axes; outside there are zeros, the border, or a reflection.
    """
    count = x.ndim - 2
    if count not in (2, 3) or grid.ndim != x.ndim or grid.shape[-1] != count or grid.shape[0] != x.shape[0]:
        raise ShapeError(
            "grid_sample: images with two or three axes and a grid of their number are needed, got input of shape "
            f"{list(x.shape)} and grid of shape {list(grid.shape)}"
        )
    if mode not in ("bilinear", "nearest", "bicubic"):
        raise ArgumentError(f"grid_sample: expected mode to be 'bilinear', 'nearest' or 'bicubic', but got: '{mode}'")
    if padding_mode not in ("zeros", "border", "reflection"):
        raise ArgumentError(
            f"grid_sample: expected padding_mode to be 'zeros', 'border', or 'reflection', but got: '{padding_mode}'"
        )
    sizes = x.shape[2:]
    if 0 in sizes:
        raise ShapeError(f"grid_sample: the images of shape {list(x.shape)} have no elements to read")
    flat = ops.reshape(x, [*x.shape[:2], math.prod(sizes)])
    # The axes of the images in their order, which is the reverse of that in the grid.
    places = [grid[..., count - 1 - axis] for axis in range(count)]
    if mode == "bicubic":
        return _by_cubics(flat, sizes, places, padding_mode, align_corners)
    at = [_places(p, n, padding_mode, align_corners) for p, n in zip(places, sizes, strict=True)]
    if mode == "nearest":
        return _read(flat, sizes, [ops.round(p.detach()) for p in at])
    lows = [ops.floor(p.detach()) for p in at]
    above = [p - low for p, low in zip(at, lows, strict=True)]
    total: Any = None
    for corner in itertools.product((0, 1), repeat=count):
        weight: Any = None
        for side, share in zip(corner, above, strict=True):
            part = share if side else 1 - share
            weight = part if weight is None else weight * part
        indices = [low + side for low, side in zip(lows, corner, strict=True)]
        term = _read(flat, sizes, indices) * ops.expand_dims(weight, 1)
        total = term if total is None else total + term
    return total  # type: ignore[no-any-return]


def _by_cubics(
    flat: Tensor, sizes: Sequence[int], places: list[Tensor], padding_mode: str, align_corners: bool
) -> Tensor:
    """Of the four samples along each axis around a place, those outside are moved one by one."""
    at = [_places(p, n, "zeros", align_corners) for p, n in zip(places, sizes, strict=True)]
    lows = [ops.floor(p.detach()) for p in at]
    weights = [_cubic(p - low) for p, low in zip(at, lows, strict=True)]
    total: Any = None
    for shifts in itertools.product(range(4), repeat=len(sizes)):
        indices = [
            _inside(low + (shift - 1), n, padding_mode, align_corners)
            for low, shift, n in zip(lows, shifts, sizes, strict=True)
        ]
        weight: Any = functools.reduce(
            operator.mul, (along[shift] for along, shift in zip(weights, shifts, strict=True))
        )
        # A reflected place may lie between two samples; the one below is read.
        term = _read(flat, sizes, [ops.floor(i) for i in indices]) * ops.expand_dims(weight, 1)
        total = term if total is None else total + term
    return total  # type: ignore[no-any-return]


def affine_grid(theta: Tensor, size: Sequence[int], align_corners: bool = False) -> Tensor:
    """The grid for :func:`grid_sample` that maps each place of an output of this size by matrices [batch, n, n + 1]."""
    count = len(size) - 2
    if count not in (2, 3) or theta.ndim != 3 or tuple(theta.shape[1:]) != (count, count + 1):
        raise ShapeError(
            f"affine_grid: matrices of shape [batch, {count}, {count + 1}] are needed for the size {list(size)}, got "
            f"{list(theta.shape)}"
        )
    if min(size) < 1:
        raise ArgumentError(f"affine_grid: expected non-zero, positive output size, got {list(size)}")

    def line(n: int) -> Tensor:
        if n == 1:
            return ops.zeros([1], theta.dtype)
        end = 1.0 if align_corners else (n - 1) / n
        return ops.linspace(-end, end, n, dtype=theta.dtype)

    axes = ops.meshgrid([line(n) for n in size[2:]], "ij")
    base = ops.stack([*reversed(axes), ops.ones(list(size[2:]), theta.dtype)], -1)
    flat = ops.reshape(base, [1, math.prod(size[2:]), count + 1])
    # Both sides are transposed, so that the matrices come first: the first operand decides the dialect.
    out = ops.matrix_transpose(ops.matmul(theta, ops.matrix_transpose(flat)))
    return ops.reshape(out, [theta.shape[0], *size[2:], count])
