"""Functions of boxes in images that both dialects have: which boxes overlap, and what is pooled and read in them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ferrograd import _core
from ferrograd._core import ShapeError, Tensor, native as ops
from ferrograd._kit.dialect import dialect_of


def made(values: Any, dtype: Any, like: Tensor) -> Any:
    """A tensor of numbers, of the dialect of another one."""
    return _core.make(np.asarray(values), dtype, False, dialect_of(like))


def apart(boxes: np.ndarray, scores: np.ndarray, limit: float) -> list[int]:
    """The boxes ``x1, y1, x2, y2`` by their scores, without those that overlap with a better one that is kept.

    Two boxes overlap if what both cover is more than ``limit`` of what either covers.
    """
    order = np.argsort(-scores, kind="stable")
    boxes = boxes[order]
    area = np.prod(boxes[:, 2:] - boxes[:, :2], axis=1)
    left, kept = np.arange(len(boxes)), []
    while len(left):
        first, left = left[0], left[1:]
        kept.append(first)
        sides = np.minimum(boxes[first, 2:], boxes[left, 2:]) - np.maximum(boxes[first, :2], boxes[left, :2])
        both = np.prod(np.maximum(sides, 0), axis=1)
        left = left[both <= limit * (area[first] + area[left] - both)]
    return [int(i) for i in order[kept]]


def read_weights(start: np.ndarray, size: np.ndarray, bins: int, n: int, ratio: int) -> np.ndarray:
    """The weights [boxes, bins, n] of ``n`` points in the mean of the samples of each bin, interpolated linearly."""
    weights = np.zeros((len(start), bins, n))
    for row, first, length in zip(weights, start, size, strict=True):
        count = ratio if ratio > 0 else math.ceil(length / bins)
        if count <= 0:
            continue
        at = first + length / bins * (np.arange(bins)[:, None] + (np.arange(count) + 0.5) / count)
        share = ((at >= -1) & (at <= n)) / count
        at = np.clip(at, 0, n - 1)
        low = at.astype(int)
        bin_of = np.broadcast_to(np.arange(bins)[:, None], low.shape)
        np.add.at(row, (bin_of, low), share * (1 - (at - low)))
        np.add.at(row, (bin_of, np.minimum(low + 1, n - 1)), share * (at - low))
    return weights


def mean_weights(first: np.ndarray, size: np.ndarray, bins: int, n: int) -> np.ndarray:
    """The weights [boxes, bins, n] of ``n`` points in the mean of those that each bin covers, in whole or in part.

    The last point belongs to no bin, as in torchvision.
    """
    weights = np.zeros((len(first), bins, n))
    for row, a, length in zip(weights, first, size, strict=True):
        for part, (low, high) in zip(row, _ends(a, length, bins, n - 1), strict=True):
            part[low:high] = 1 / max(high - low, 1)
    return weights


def _ends(first: int, length: float, bins: int, n: int) -> list[tuple[int, int]]:
    """Where each of the bins of a length begins and ends among ``n`` points."""
    at = np.arange(bins + 1) * (length / bins)
    low = np.clip(np.floor(at[:-1]).astype(int) + first, 0, n)
    high = np.clip(np.ceil(at[1:]).astype(int) + first, 0, n)
    return [(int(a), int(b)) for a, b in zip(low, high, strict=True)]


def summed_in_boxes(x: Tensor, images: np.ndarray, down: np.ndarray, across: np.ndarray, by_place: bool = False) -> Any:
    """Weighted sums over the rows and columns of images [batch, channels, height, width], for each box.

    ``images`` has the image of each box, ``down`` [boxes, rows, height] and ``across`` [boxes, columns, width] the
    weights. With ``by_place`` each place of the result has channels of its own, which follow each other: the result is
    [boxes, channels, rows, columns], or [boxes, channels / (rows * columns), rows, columns].
    """
    rows, columns = down.shape[1], across.shape[1]
    height, width = x.shape[2:]
    channels = x.shape[1] // (rows * columns) if by_place else x.shape[1]
    if by_place:
        x = ops.reshape(x, [x.shape[0], channels, rows, columns, height, width])
    parts, order = [], []
    for image in np.unique(images).tolist():
        of_image = np.flatnonzero(images == image)
        order += of_image.tolist()
        formula = "rph,cpqhw,rqw->rcpq" if by_place else "rph,chw,rqw->rcpq"
        weights = (made(w[of_image], x.dtype, x) for w in (down, across))
        parts.append(ops.einsum(formula, next(weights), x[image], next(weights)))
    if not parts:
        return ops.zeros_like(made(np.zeros([0, channels, rows, columns]), x.dtype, x))
    found = ops.concat(parts, 0)
    return found if order == sorted(order) else found[np.argsort(order).tolist()]


def largest_in_boxes(x: Tensor, images: np.ndarray, corners: np.ndarray, rows: int, columns: int) -> tuple[Any, Any]:
    """The largest elements of images [batch, channels, height, width] in the bins of boxes, and where they are.

    ``corners`` has the first and the last column and row of each box: ``x1, y1, x2, y2``. A bin outside of the image is
    0 and at -1. Both results are [boxes, channels, rows, columns].
    """
    channels, height, width = x.shape[1:]
    numbers = x.detach().numpy()
    places = np.full((len(corners), channels, rows, columns), -1)
    for place, image, (x1, y1, x2, y2) in zip(places, images, corners, strict=True):
        for i, (top, bottom) in enumerate(_ends(y1, max(y2 - y1 + 1, 1), rows, height)):
            for j, (left, right) in enumerate(_ends(x1, max(x2 - x1 + 1, 1), columns, width)):
                if top < bottom and left < right:
                    part = numbers[image, :, top:bottom, left:right].reshape(channels, -1)
                    down, across = np.divmod(part.argmax(1), right - left)
                    place[:, i, j] = (top + down) * width + left + across
    at = (np.asarray(images).reshape(-1, 1) * channels + np.arange(channels))[:, :, None, None] * height * width
    found = ops.reshape(x, [-1])[made(np.where(places < 0, 0, places + at), np.dtype(np.int64), x)]
    found = ops.where(made(places >= 0, np.dtype(bool), x), found, 0.0)
    return found, made(places, np.dtype(np.int32), x)


def deform_conv2d(
    x: Tensor,
    offset: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    mask: Tensor | None,
    steps: Sequence[int],
    edges: Sequence[int],
    gaps: Sequence[int],
    groups: int,
    parts: int,
) -> Any:
    """A convolution of images whose kernel reads at places that are moved, interpolated linearly, zero outside.

    ``x`` is [batch, in, height, width] and ``weight`` [out, in / groups, rows, columns]. ``steps``, ``edges`` and
    ``gaps`` are the stride, the padding and the dilation. For each of ``parts`` of the channels, ``offset`` [batch,
    2 * parts * rows * columns, height', width'] moves the places, and ``mask`` [batch, parts * rows * columns, height',
    width'] is a factor of what is read there.
    """
    if x.ndim != 4 or weight.ndim != 4 or weight.shape[1] * groups != x.shape[1] or weight.shape[0] % groups:
        raise ShapeError(
            f"deform_conv2d: a weight of {list(weight.shape)} for images {list(x.shape)} in {groups} groups"
        )
    batch, channels = x.shape[:2]
    kernel, sizes = list(weight.shape[2:]), list(x.shape[2:])
    out = [
        (n + 2 * edge - gap * (k - 1) - 1) // step + 1
        for n, edge, gap, k, step in zip(sizes, edges, gaps, kernel, steps, strict=True)
    ]
    points, places = kernel[0] * kernel[1], out[0] * out[1]
    wanted = [batch, 2 * parts * points, *out]
    if channels % parts or list(offset.shape) != wanted:
        raise ShapeError(f"deform_conv2d: offset is {wanted}, not {list(offset.shape)}, for {parts} deformable groups")
    moved = ops.reshape(offset, [batch, parts, points, 2, places])
    # Where each point of the kernel is without an offset: [points, places] for both axes.
    still = [
        np.add.outer(np.arange(k) * gap, np.arange(n) * step - edge)
        for k, gap, n, step, edge in zip(kernel, gaps, out, steps, edges, strict=True)
    ]
    down = np.broadcast_to(still[0][:, None, :, None], (*kernel, *out)).reshape(points, places)
    across = np.broadcast_to(still[1][None, :, None, :], (*kernel, *out)).reshape(points, places)
    at = [moved[:, :, :, i] + made(base, x.dtype, x) for i, base in enumerate((down, across))]
    low = [ops.floor(place.detach()) for place in at]
    pixels = ops.reshape(x, [batch, parts, channels // parts, sizes[0] * sizes[1]])
    read: Any = 0.0
    for corner in ((0, 0), (0, 1), (1, 0), (1, 1)):
        share: Any = 1.0
        index: Any = 0
        for place, first, more, n in zip(at, low, corner, sizes, strict=True):
            near = first + more
            inside = ops.logical_and(near >= 0, near <= n - 1)
            share = share * (1 - ops.abs(place - near)) * ops.astype(inside, x.dtype)
            index = index * n + ops.astype(ops.clip(near, 0, n - 1), np.dtype(np.int64))
        rows = ops.reshape(index, [batch, parts, 1, points * places])
        rows = ops.broadcast_to(rows, [batch, parts, channels // parts, points * places])
        values = ops.reshape(ops.take_along_axis(pixels, rows, 3), [batch, parts, channels // parts, points, places])
        read = read + values * ops.expand_dims(share, 2)
    if mask is not None:
        if list(mask.shape) != [batch, parts * points, *out]:
            raise ShapeError(f"deform_conv2d: mask is {[batch, parts * points, *out]}, not {list(mask.shape)}")
        read = read * ops.reshape(mask, [batch, parts, 1, points, places])
    read = ops.reshape(read, [batch, groups, channels // groups * points, places])
    found = ops.matmul(ops.reshape(weight, [groups, weight.shape[0] // groups, -1]), read)
    found = ops.reshape(found, [batch, weight.shape[0], *out])
    return found if bias is None else found + ops.reshape(bias, [-1, 1, 1])
