"""Histograms of points in several dimensions, which both dialects have with their own parameters."""

from __future__ import annotations

from typing import Any

import numpy as np

from ferrograd import _core
from ferrograd._core import ShapeError, Tensor
from ferrograd._kit import arguments as _arguments
from ferrograd._kit.dialect import dialect_of


def of_points(x: Any, bins: Any, ends: Any, density: bool, weights: Tensor | None) -> tuple[Any, list[Any]]:
    """How many points (the rows of ``x``) lie in each cell of a grid, and the ends of its parts along each axis.

    ``bins`` is a number of parts, one for each axis, or a list of tensors with their ends. ``ends`` has the lowest and
    the highest end of each axis, one after the other.
    """
    points = _arguments.tensor(x, "histogramdd", "x").detach()
    if points.ndim < 2:
        raise ShapeError(f"histogramdd: x must have at least two axes, got shape {list(points.shape)}")
    n = points.shape[-1]
    given = bins
    if isinstance(bins, list | tuple) and all(isinstance(b, Tensor) for b in bins):
        given = [np.asarray(b.detach().numpy()) for b in bins]
    found, edges = np.histogramdd(
        # NumPy would walk over a broadcast of any size without hearing Ctrl-C; a copy of it is a lack of memory.
        np.ascontiguousarray(points.numpy()).reshape(-1, n),
        given,
        None if ends is None else [(ends[2 * i], ends[2 * i + 1]) for i in range(n)],
        bool(density),
        None if weights is None else weights.detach().numpy().reshape(-1),
    )

    def tensor(a: Any) -> Any:
        return _core.make(np.ascontiguousarray(a), points.dtype, False, dialect_of(points))

    return tensor(found), [tensor(edge) for edge in edges]
