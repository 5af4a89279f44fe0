"""Images read at places that are computed: ``grid_sample`` and ``affine_grid``, which both dialects have."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

from ferrograd._core import ArgumentError, DtypeError, ShapeError, Tensor, native as ops
from ferrograd._functions.half_floats import rounded_once


def _everywhere(at: Tensor, value: float) -> Any:
    """The same number for each place. Its derivative by the place is 0."""
    return ops.masked_fill(at, ops.ones_like(at.detach(), "bool"), value)


def _reflected(at: Tensor, low: float, high: float) -> Any:
    """Places mirrored at both bounds until they lie between them."""
    if high <= low:
        return _everywhere(at, 0.0)
    span = high - low
    moved = ops.abs(at - low)
    turns = ops.floor(moved / span)
    rest = moved - turns * span
    return ops.where(ops.remainder(turns, 2) == 0, rest + low, span - rest + low)


def _places(at: Tensor, n: int, padding_mode: str, align_corners: bool) -> Any:
    """Places in [-1, 1] as places among ``n`` samples, with those outside moved as the mode says."""
    at = (at + 1) * ((n - 1) / 2) if align_corners else ((at + 1) * n - 1) / 2
    return _inside(at, n, padding_mode, align_corners)


def _inside(at: Tensor, n: int, padding_mode: str, align_corners: bool) -> Any:
    if padding_mode == "border":
        return ops.clamp(at, 0, n - 1)
    if padding_mode == "reflection":
        bounds = (0, n - 1) if align_corners else (-0.5, n - 0.5)
        return ops.clamp(_reflected(at, *bounds), 0, n - 1)
    return at


#: Indices of samples along an axis, which samples exist, and their weights.
Samples = tuple[Tensor, Tensor, Tensor]


def _samples(index: Tensor, n: int, weight: Tensor) -> Samples:
    """Samples along an axis of ``n``. A NaN is nowhere, and has a weight of NaN."""
    here = ops.logical_and(index >= 0, index <= n - 1)
    return ops.cast(ops.where(here, index, 0.0), "int64"), here, weight


def _read(x: Tensor, parts: Sequence[Sequence[Samples]]) -> Any:
    """The sums of the elements of images at indices of each axis, with the products of their weights; 0 outside.

    Each part has the samples along all axes.
    """
    sizes = x.shape[2:]
    places, weights = [], []
    for part in parts:
        place, inside, weight = part[0]
        for n, (index, here, share) in zip(sizes[1:], part[1:], strict=True):
            place, inside, weight = place * n + index, ops.logical_and(inside, here), weight * share
        places.append(ops.where(inside, place, -1))
        weights.append(weight)
    shape = list(weights[0].shape)
    lists = [shape[0], len(parts), math.prod(shape[1:])]
    index, weight = (ops.reshape(ops.stack(all, 1), lists) for all in (places, weights))
    flat = ops.reshape(x, [*x.shape[:2], math.prod(sizes)])
    return ops.reshape(ops.weighted_gather(flat, index, weight), [shape[0], x.shape[1], *shape[1:]])


def _cubic(t: Tensor) -> list[Any]:
    """The weights of the samples at -1, 0, 1 and 2 for a place ``t`` in [0, 1): cubic convolution with a = -0.75."""
    a = -0.75

    def near(x: Tensor) -> Any:
        return ((a + 2) * x - (a + 3)) * x * x + 1

    def far(x: Tensor) -> Any:
        return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a

    return [far(t + 1), near(t), near(1 - t), far(2 - t)]


@rounded_once
def grid_sample(
    x: Tensor, grid: Tensor, mode: str = "bilinear", padding_mode: str = "zeros", align_corners: bool = False
) -> Any:
    """Images [batch, channels, …] read at the places of a grid [batch, …, axes], whose numbers run from -1 to 1.

    The last axis of the grid has the place along the last axis first. The mode is bilinear, nearest or bicubic, also of
    three axes; outside there are zeros, the border, or a reflection.
    """
    count = x.ndim - 2
    shapes = f"but got input of shape {list(x.shape)} and grid of shape {list(grid.shape)}"
    if not grid.ndim or grid.shape[-1] != count:
        raise ShapeError(f"grid_sample: expected grid to have size {count} in last dimension, {shapes}")
    if count not in (2, 3) or grid.ndim != x.ndim:
        raise ShapeError(f"grid_sample: expected 4D or 5D input and grid with same number of dimensions, {shapes}")
    if grid.shape[0] != x.shape[0]:
        raise ShapeError(f"grid_sample: expected grid and input to have same batch size, {shapes}")
    if mode not in ("bilinear", "nearest", "bicubic"):
        raise ArgumentError(f"grid_sample: expected mode to be 'bilinear', 'nearest' or 'bicubic', but got: '{mode}'")
    if padding_mode not in ("zeros", "border", "reflection"):
        raise ArgumentError(
            f"grid_sample: expected padding_mode to be 'zeros', 'border', or 'reflection', but got: '{padding_mode}'"
        )
    sizes = x.shape[2:]
    if 0 in sizes:
        raise ShapeError(f"grid_sample: expected input to have non-empty spatial dimensions, not {list(x.shape)}")
    if x.dtype.kind == "c":
        parts = (grid_sample(part, grid, mode, padding_mode, align_corners) for part in (ops.real(x), ops.imag(x)))
        return ops.complex(*parts)
    # The axes of the images in their order, which is the reverse of that in the grid.
    places = [grid[..., count - 1 - axis] for axis in range(count)]
    if mode == "bicubic":
        return _read(x, list(itertools.product(*_cubics(sizes, places, padding_mode, align_corners))))
    along = []
    for place, n in zip(places, sizes, strict=True):
        at = _places(place, n, padding_mode, align_corners)
        if mode == "nearest":
            along.append([_samples(ops.round(at.detach()), n, _everywhere(at, 1.0))])
        else:
            low = ops.floor(at.detach())
            above = at - low
            along.append([_samples(low, n, 1 - above), _samples(low + 1, n, above)])
    return _read(x, list(itertools.product(*along)))


def _cubics(sizes: Sequence[int], places: list[Tensor], padding_mode: str, align_corners: bool) -> list[list[Samples]]:
    """The four samples along each axis around a place. Those outside are moved one by one."""
    along = []
    for place, n in zip(places, sizes, strict=True):
        at = _places(place, n, "zeros", align_corners)
        low = ops.floor(at.detach())
        # A reflected place may lie between two samples; the one below is read.
        along.append(
            [
                _samples(ops.floor(_inside(low + (shift - 1), n, padding_mode, align_corners)), n, weight)
                for shift, weight in enumerate(_cubic(at - low))
            ]
        )
    return along


def affine_grid(theta: Tensor, size: Sequence[int], align_corners: bool = False) -> Any:
    """The grid for :func:`grid_sample` that maps each place of an output of this size by matrices [batch, n, n + 1]."""
    count = len(size) - 2
    if theta.dtype.kind not in "fV":
        raise DtypeError(f"affine_grid: Expected theta to have floating point type, but got {theta.dtype}")
    if count not in (2, 3) or theta.ndim != 3 or tuple(theta.shape[1:]) != (count, count + 1):
        raise ShapeError(
            f"affine_grid: Expected a batch of {count}D affine matrices of shape Nx{count}x{count + 1} for size "
            f"{list(size)}. Got {list(theta.shape)}."
        )
    if min(size) < 1:
        raise ArgumentError(f"affine_grid: expected non-zero, positive output size, got {list(size)}")

    def line(n: int) -> Any:
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
