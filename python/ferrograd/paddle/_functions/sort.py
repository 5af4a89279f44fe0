"""Paddle's functions that sort, search and count elements. Each is a tensor method too."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ferrograd._core import ArgumentError, paddle as ops
from ferrograd._functions import histograms
from ferrograd._functions.sort import distinct, runs
from ferrograd._kit import arguments as _arguments
from ferrograd._kit.out import into
from ferrograd.paddle._tensor import Tensor

__all__ = [
    "bucketize",
    "histogram",
    "histogram_bin_edges",
    "histogramdd",
    "isin",
    "searchsorted",
    "topk",
    "unique",
    "unique_consecutive",
]


def topk(
    x: Tensor, k: Any, axis: int | None = None, largest: bool = True, sorted: bool = True, name: str | None = None
) -> tuple[Tensor, Tensor]:
    """The ``k`` largest (or smallest) elements along an axis and their indices."""
    k = _arguments.integer(k, "topk", "k")
    if k < 1:
        raise ArgumentError(f"topk: k is a positive number of elements, not {k}")
    values, indices = ops.topk(x, k, -1 if axis is None else axis, largest, sorted)
    return values, indices


def searchsorted(
    sorted_sequence: Tensor,
    values: Any,
    out_int32: bool = False,
    right: bool = False,
    name: str | None = None,
    *,
    side: str | None = None,
    out: Tensor | None = None,
    sorter: Tensor | None = None,
) -> Tensor:
    """Where elements would be inserted into rising rows so that these stay rising."""
    found = ops.searchsorted(sorted_sequence, values, right, side, sorter)
    return into(out, ops.cast(found, "int32") if out_int32 else found)


def bucketize(
    x: Tensor, sorted_sequence: Tensor, out_int32: bool = False, right: bool = False, name: str | None = None
) -> Tensor:
    """How many of the rising numbers are below each element, or with ``right`` not above it."""
    found = ops.bucketize(x, sorted_sequence, right)
    return ops.cast(found, "int32") if out_int32 else found


def isin(
    x: Tensor, test_x: Tensor, assume_unique: bool = False, invert: bool = False, name: str | None = None
) -> Tensor:
    """Whether each element is one of ``test_x``; with ``invert`` whether it is none."""
    return ops.isin(x, test_x, invert)


def unique(
    x: Tensor,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: int | None = None,
    dtype: Any = "int64",
    sorted: bool = True,
    name: str | None = None,
) -> Any:
    """The distinct elements in rising order, or with an axis the distinct slices.

    Also, if asked for, where each is first, which of them each element is, and how often each is there, as ``dtype``.
    """
    values, first, inverse, counts = distinct(_arguments.tensor(x, "unique", "x"), axis, "unique")
    found = (values, first, ops.reshape(inverse, [-1]), counts)
    return _chosen(found, (return_index, return_inverse, return_counts), dtype)


def unique_consecutive(
    x: Tensor,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: int | None = None,
    dtype: Any = "int64",
    name: str | None = None,
) -> Any:
    """The first element (or slice along an axis) of each run of equal ones; also the run of each, and its length."""
    values, run, lengths = runs(_arguments.tensor(x, "unique_consecutive", "x"), axis, "unique_consecutive")
    return _chosen((values, ops.reshape(run, [-1]), lengths), (return_inverse, return_counts), dtype)


def _chosen(found: Sequence[Tensor], wanted: Sequence[bool], dtype: Any) -> Any:
    values, *others = found
    more = [ops.cast(x, dtype) for x, is_wanted in zip(others, wanted, strict=True) if is_wanted]
    return (values, *more) if more else values


def _range(x: Tensor, low: float, high: float, function: str) -> tuple[float, float]:
    """The bounds of a histogram: those of the elements if both are 0."""
    if high < low:
        raise ArgumentError(f"{function}: max must be larger than min, got {low} and {high}")
    if low == high == 0 and x.numel():
        low, high = ops.min(x).item(), ops.max(x).item()
    return (low - 0.5, high + 0.5) if low == high else (low, high)


def histogram(
    input: Tensor,
    bins: int = 100,
    min: float = 0,
    max: float = 0,
    weight: Tensor | None = None,
    density: bool = False,
    name: str | None = None,
) -> Tensor:
    """How many elements (int64) lie in each of ``bins`` equal parts from ``min`` to ``max``.

    If both bounds are 0 they are those of the elements. With weights, or as a ``density``, the result is float32.
    """
    x = _arguments.tensor(input, "histogram", "input").detach()
    low, high = _range(x, min, max, "histogram")
    found = ops.histogram(x, bins, low, high, weight, density)[0]
    return ops.cast(found, "int64" if weight is None and not density else "float32")


def histogram_bin_edges(
    input: Tensor, bins: int = 100, min: float = 0, max: float = 0, name: str | None = None
) -> Tensor:
    """The ends of the parts of :func:`histogram`, float32."""
    low, high = _range(_arguments.tensor(input, "histogram_bin_edges", "input"), min, max, "histogram_bin_edges")
    return ops.linspace(low, high, _arguments.integer(bins, "histogram_bin_edges", "bins") + 1, "float32")


def histogramdd(
    x: Tensor,
    bins: Any = 10,
    ranges: Sequence[float] | None = None,
    density: bool = False,
    weights: Tensor | None = None,
    name: str | None = None,
) -> tuple[Tensor, list[Tensor]]:
    """How many points (the rows of ``x``) lie in each cell of a grid, and the ends of its parts along each axis.

    ``bins`` is a number of parts, one for each axis, or a list of tensors with their ends. ``ranges`` has the lowest
    and the highest end of each axis, one after the other.
    """
    return histograms.of_points(x, bins, ranges, density, weights)
