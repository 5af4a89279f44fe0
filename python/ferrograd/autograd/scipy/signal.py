"""``convolve``, along some axes of arrays."""

from __future__ import annotations

import string
from collections.abc import Sequence
from typing import Any

import numpy as np

import ferrograd.autograd.numpy as anp
from ferrograd._core import Tensor
from ferrograd._functions.shapes import windows
from ferrograd._kit import public as _public

__all__ = ["convolve"]

Axes = Sequence[Sequence[int]]


def convolve(A: Any, B: Any, axes: Axes | None = None, dot_axes: Axes | None = None, mode: str = "full") -> Any:
    """The convolution along pairs of axes, summed over the pairs ``dot_axes``; without ``axes`` along all of them.

    The result has the other axes of ``A``, those of ``B``, and the axes of the convolution. ``mode`` is ``"full"``,
    ``"valid"``, where no element outside of an array counts, or ``"same"``, as many as ``A`` has.

    >>> from ferrograd.autograd.scipy.signal import convolve
    >>> convolve(np.array([1.0, 2.0]), np.array([1.0, 1.0])).tolist()
    [1.0, 3.0, 2.0]
    """
    if mode not in ("full", "valid", "same"):
        raise ValueError(f"Mode {mode} undefined, it can be one of 'valid', 'full', and 'same'")
    # Lists have no axes to select.
    A, B = (x if isinstance(x, Tensor) else np.asarray(x) for x in (A, B))
    every = range(np.ndim(A))
    along_a, along_b = (list(every), list(every)) if axes is None else map(list, axes)
    dot_a, dot_b = ([], []) if dot_axes is None else map(list, dot_axes)
    if max([*along_a, *dot_a], default=-1) >= np.ndim(A) or max([*along_b, *dot_b], default=-1) >= np.ndim(B):
        raise ValueError(f"the axes are none of arrays of {np.ndim(A)} and {np.ndim(B)} axes")
    sizes = [(np.shape(A)[i], np.shape(B)[j]) for i, j in zip(along_a, along_b, strict=True)]
    is_swapped = mode == "valid" and any(a < b for a, b in sizes)
    if is_swapped and any(a > b for a, b in sizes):
        raise ValueError("One array must be larger than the other along all convolved dimensions")
    if is_swapped:
        A, B, along_a, along_b, dot_a, dot_b = B, A, along_b, along_a, dot_b, dot_a
    filters = B[tuple(slice(None, None, -1 if j in along_b else None) for j in range(np.ndim(B)))]
    under = _windows(_padded(A, B, along_a, along_b, mode), along_a, [np.shape(B)[j] for j in along_b])
    labels = iter(string.ascii_letters)
    names_a = [next(labels) for _ in range(np.ndim(A))]
    names_b = [next(labels) for _ in range(np.ndim(B))]
    for i, j in zip(dot_a, dot_b, strict=True):
        names_b[j] = names_a[i]
    left_a = [name for i, name in enumerate(names_a) if i not in (*along_a, *dot_a)]
    left_b = [name for j, name in enumerate(names_b) if j not in (*along_b, *dot_b)]
    left = left_b + left_a if is_swapped else left_a + left_b
    inner = "".join(names_a + [names_b[j] for j in along_b])
    outer = "".join(left + [names_a[i] for i in along_a])
    return anp.einsum(f"{inner},{''.join(names_b)}->{outer}", under, filters)


def _padded(A: Any, B: Any, along_a: list[int], along_b: list[int], mode: str) -> Any:
    """``A`` with as many zeros around it as the filter ``B`` reaches beyond it."""
    if mode == "valid":
        return A
    widths = [(0, 0)] * np.ndim(A)
    for i, j in zip(along_a, along_b, strict=True):
        beyond = np.shape(B)[j] - 1
        after = beyond if mode == "full" else beyond // 2
        widths[i] = (beyond if mode == "full" else beyond - after, after)
    return anp.pad(A, widths, mode="constant")


def _windows(A: Any, axes: list[int], sizes: list[int]) -> Any:
    """All windows of these sizes along axes; the axes inside of a window come last."""
    if not isinstance(A, Tensor):
        return np.lib.stride_tricks.sliding_window_view(A, tuple(sizes), tuple(axes)) if axes else A
    for axis, size in zip(axes, sizes, strict=True):
        A = windows(A, axis, size, 1)
    return A


__dir__ = _public.names(globals())
