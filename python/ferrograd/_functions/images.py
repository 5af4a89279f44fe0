"""Functions of images that both dialects have: shuffled channels, windows as columns, other sizes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ferrograd import _core
from ferrograd._core import ArgumentError, DtypeError, ShapeError, Tensor, native as ops
from ferrograd._functions.half_floats import rounded_once
from ferrograd._kit.dialect import dialect_of


def pixel_shuffle(x: Tensor, factor: int) -> Any:
    """[…, C * factor**2, H, W] as […, C, H * factor, W * factor]."""
    *batch, channels, height, width = x.shape
    if factor < 1 or channels % factor**2:
        raise ShapeError(
            f"pixel_shuffle: {channels} channels cannot be divided by the square of upscale_factor {factor}"
        )
    n = len(batch)
    parts = ops.reshape(x, [*batch, channels // factor**2, factor, factor, height, width])
    moved = ops.permute_dims(parts, [*range(n + 1), n + 3, n + 1, n + 4, n + 2])
    return ops.reshape(moved, [*batch, channels // factor**2, height * factor, width * factor])


def pixel_unshuffle(x: Tensor, factor: int) -> Any:
    """[…, C, H * factor, W * factor] as […, C * factor**2, H, W]."""
    *batch, channels, height, width = x.shape
    if factor < 1 or height % factor or width % factor:
        raise ShapeError(f"pixel_unshuffle: {height} x {width} images cannot be divided by downscale_factor {factor}")
    n = len(batch)
    parts = ops.reshape(x, [*batch, channels, height // factor, factor, width // factor, factor])
    moved = ops.permute_dims(parts, [*range(n + 1), n + 2, n + 4, n + 1, n + 3])
    return ops.reshape(moved, [*batch, channels * factor**2, height // factor, width // factor])


def channel_shuffle(x: Tensor, groups: int) -> Any:
    """The channels (axis 1) as a matrix with a row for each group, read by columns."""
    batch, channels, *rest = x.shape
    parts = ops.reshape(x, [batch, groups, channels // groups, *rest])
    return ops.reshape(ops.swapaxes(parts, 1, 2), [batch, channels, *rest])


def _constant(values: Any, dtype: Any) -> Any:
    made = _core.constant(np.ascontiguousarray(values))
    return made if dtype is None else ops.cast(made, dtype)


def _places(sizes: Any, kernel: Any, dilation: Any, padding: Any, stride: Any, what: str) -> tuple[Any, list[int]]:
    """For an image of these sizes, padded: the flat position of every element of every window, and the window counts.

    The positions have the shape [kernel, windows].
    """
    for name, numbers, least in (
        ("kernel_size", kernel, 1),
        ("dilation", dilation, 1),
        ("padding", padding, 0),
        ("stride", stride, 1),
    ):
        if min(numbers) < least:
            raise ArgumentError(f"{what}: {name} is at least {least}, not {list(numbers)}")
    counts, lines = [], []
    for n, k, d, p, s in zip(sizes, kernel, dilation, padding, stride, strict=True):
        counts.append((n + 2 * p - d * (k - 1) - 1) // s + 1)
        lines.append((np.arange(k) * d)[:, None] + (np.arange(counts[-1]) * s)[None, :])
    if min(counts) < 1:
        raise ShapeError(
            f"{what}: windows of {list(kernel)} do not fit into {list(sizes)} padded by {list(padding)}: calculated "
            f"shape of the array of sliding blocks as {counts}, but its components must be at least one"
        )
    rows, columns = lines
    wide = sizes[1] + 2 * padding[1]
    places = rows[:, None, :, None] * wide + columns[None, :, None, :]
    return places.reshape(math.prod(kernel), math.prod(counts)), counts


def unfold(x: Tensor, kernel: Any, dilation: Any, padding: Any, stride: Any) -> Any:
    """The windows of images [batch, channels, height, width] as columns: [batch, channels * kernel, windows]."""
    batch, channels, *sizes = x.shape
    places, _ = _places(sizes, kernel, dilation, padding, stride, "unfold")
    padded = ops.pad(x, [(0, 0), (0, 0), *((p, p) for p in padding)])
    flat = ops.reshape(padded, [batch, channels, math.prod(padded.shape[2:])])
    found = ops.index_select(flat, 2, _constant(places.ravel(), None))
    return ops.reshape(found, [batch, channels * places.shape[0], places.shape[1]])


def fold(x: Tensor, sizes: Any, kernel: Any, dilation: Any, padding: Any, stride: Any) -> Any:
    """Columns [batch, channels * kernel, windows] summed into images: the transpose of :func:`unfold`."""
    batch, rows, windows = x.shape
    places, counts = _places(sizes, kernel, dilation, padding, stride, "fold")
    if rows % places.shape[0]:
        raise ShapeError(
            f"Expected size of input's dimension 1 to be divisible by the product of kernel_size, but got "
            f"input.size(1)={rows} and kernel_size={tuple(kernel)}."
        )
    if windows != places.shape[1]:
        raise ShapeError(
            f"Given output_size={tuple(sizes)}, kernel_size={tuple(kernel)}, dilation={tuple(dilation)}, "
            f"padding={tuple(padding)}, stride={tuple(stride)}, expected size of input's dimension 2 to match the "
            f"calculated number of sliding blocks {counts[0]} * {counts[1]} = {places.shape[1]}, but got "
            f"input.size(2)={windows}."
        )
    channels = rows // places.shape[0]
    height, width = (n + 2 * p for n, p in zip(sizes, padding, strict=True))
    # The zeros are made from x, so that they are batched as x is.
    start = ops.broadcast_to(ops.zeros_like(x[:, :1, :1]), [batch, channels, height * width])
    columns = ops.reshape(x, [batch, channels, places.size])
    images = ops.index_add(start, 2, _constant(places.ravel(), None), columns)
    images = ops.reshape(images, [batch, channels, height, width])
    return images[:, :, padding[0] : padding[0] + sizes[0], padding[1] : padding[1] + sizes[1]]


def _linear(n: int, m: int, step: float, aligned: bool, centred: bool) -> np.ndarray[Any, Any]:
    """The weights with which linear interpolation makes ``m`` samples of ``n``."""
    if aligned:
        at = np.arange(m) * ((n - 1) / (m - 1) if m > 1 else 0.0)
    else:
        at = np.maximum((np.arange(m) + 0.5) * step - 0.5, 0) if centred else np.arange(m) * step
    low = np.minimum(np.floor(at).astype(int), n - 1)
    weights = np.zeros((m, n))
    np.add.at(weights, (np.arange(m), low), 1 - (at - low))
    np.add.at(weights, (np.arange(m), np.minimum(low + 1, n - 1)), at - low)
    return weights


def _cubic(n: int, m: int, step: float, aligned: bool) -> np.ndarray[Any, Any]:
    """The weights with which cubic convolution (a = -0.75) makes ``m`` samples of ``n``."""
    a = -0.75
    at = np.arange(m) * ((n - 1) / (m - 1) if m > 1 else 0.0) if aligned else (np.arange(m) + 0.5) * step - 0.5
    low = np.floor(at).astype(int)
    weights = np.zeros((m, n))
    for shift in (-1, 0, 1, 2):
        far = np.abs(at - (low + shift))
        near = ((a + 2) * far - (a + 3)) * far**2 + 1
        wide = ((a * far - 5 * a) * far + 8 * a) * far - 4 * a
        np.add.at(weights, (np.arange(m), np.clip(low + shift, 0, n - 1)), np.where(far <= 1, near, wide))
    return weights


def _antialiased(n: int, m: int, step: float, aligned: bool, linear: bool) -> np.ndarray[Any, Any]:
    """The weights with which ``m`` samples are means of ``n`` under a filter as wide as the samples are apart.

    The filter is a triangle if ``linear``, else that of cubic convolution with a = -0.5.
    """
    if aligned:
        step = (n - 1) / (m - 1) if m > 1 else 0.0
    wide, half = max(step, 1.0), 1.0 if linear else 2.0
    centre, cells = step * (np.arange(m) + 0.5)[:, None], np.arange(n)
    first = np.maximum((centre - half * wide + 0.5).astype(int), 0)
    end = np.minimum((centre + half * wide + 0.5).astype(int), n)
    far = np.abs(cells - centre + 0.5) / wide
    cubic = np.where(far < 1, (1.5 * far - 2.5) * far**2 + 1, ((2.5 - 0.5 * far) * far - 4) * far + 2)
    weights = np.where((first <= cells) & (cells < end) & (far < half), 1 - far if linear else cubic, 0.0)
    found: np.ndarray[Any, Any] = weights / weights.sum(1, keepdims=True)
    return found


@rounded_once
def resize(
    x: Tensor,
    sizes: Sequence[int],
    factors: Sequence[float | None],
    mode: str,
    aligned: bool = False,
    centred: bool = True,
    antialias: bool = False,
    behind: int = 0,
) -> Any:
    """[batch, channels, …] with other sizes of the last axes; ``mode`` is nearest, nearest-exact, linear or cubic.

    There may be other axes ``behind`` these: so many. Bytes are rounded after each axis; the last axis comes first.
    With ``antialias`` a sample of a smaller image is a mean of all that lie about it.

    A factor, where it is not None, is the step between samples in place of the quotient of the sizes. Linear
    interpolation takes samples for the middles of cells, or for their starts if it is not ``centred``.
    """
    first = x.ndim - len(sizes) - behind
    own = slice(first, first + len(sizes))
    if not mode.startswith("nearest") and x.dtype.kind not in "fc":
        if x.dtype != "uint8":
            raise DtypeError(f"interpolate: not implemented for {x.dtype.name}; cast to a float first")
        for axis in reversed(range(len(sizes))):
            each = list(x.shape[own])
            steps: list[float | None] = [None] * len(sizes)
            each[axis], steps[axis] = sizes[axis], factors[axis]
            found = resize(ops.cast(x, "float32"), each, steps, mode, aligned, centred, antialias, behind)
            x = ops.cast(ops.clip(ops.floor(found + 0.5), 0, 255), "uint8")
        return x
    if min(*sizes, *x.shape[own], 1) < 1:
        raise ArgumentError(
            f"interpolate: each size is at least 1, not {list(x.shape[own])} and, of the result, {list(sizes)}"
        )
    if max(*sizes, 1) >= 1 << 40:
        raise ArgumentError(f"interpolate: the result would have the sizes {list(sizes)}, which no memory holds")
    for axis, (m, factor) in enumerate(zip(sizes, factors, strict=True), first):
        n = x.shape[axis]
        step = n / m if factor is None else 1 / factor
        if mode.startswith("nearest"):
            half = np.float32(0.5 if mode == "nearest-exact" else 0)
            at = np.floor((np.arange(m, dtype=np.float32) + half) * np.float32(step)).astype(np.int64)
            x = ops.index_select(x, axis, _constant(np.minimum(at, n - 1), None))
        elif n != m or (factor is not None and not aligned):
            linear = mode == "linear"
            if antialias:
                weights = _antialiased(n, m, step, aligned, linear)
            else:
                weights = _linear(n, m, step, aligned, centred) if linear else _cubic(n, m, step, aligned)
            if axis == x.ndim - 1:
                x = ops.matmul(x, _constant(weights.T, x.dtype))
            else:
                # The axes behind this one are joined to one axis, so that the result is in C order.
                lead, rest = list(x.shape[:axis]), list(x.shape[axis + 1 :])
                flat = ops.reshape(x, [*lead, n, math.prod(rest)])
                left = ops.cast(_core.make(weights, None, False, dialect_of(x)), x.dtype)
                x = ops.reshape(ops.matmul(left, flat), [*lead, m, *rest])
    return x
