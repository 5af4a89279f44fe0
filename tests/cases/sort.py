"""Sorting along an axis."""

from typing import Any

import numpy as np

from tests.cases import Case, normal

X = normal(3, 4, 5)
TIES = np.array([[3, 1, 3, 2, 1], [0, 0, 7, -5, 7]])


def argsort(x: Any, axis: int = -1, descending: bool = False) -> Any:
    """A stable sort in either direction; NaN is the largest."""
    if not descending:
        return np.argsort(x, axis=axis, kind="stable")
    n = x.shape[axis]
    return n - 1 - np.flip(np.argsort(np.flip(x, axis), axis=axis, kind="stable"), axis)


def sort(x: Any, axis: int = -1, descending: bool = False) -> Any:
    return np.take_along_axis(x, argsort(x, axis, descending), axis)


def both(x: Any, axis: int = -1, descending: bool = False) -> Any:
    return sort(x, axis, descending), argsort(x, axis, descending)


def topk(x: Any, k: Any, axis: int = -1, largest: bool = True) -> Any:
    return tuple(part.take(range(k), axis=axis) for part in both(x, axis, largest))


def first(result: Any) -> Any:
    return result[0]


WAYS = [{}, {"axis": 0}, {"axis": 1, "descending": True}]

CASES = [
    *[Case("sort", (X,), kw, ref=sort) for kw in WAYS],
    *[Case("argsort", (TIES,), {"descending": d}, ref=argsort, order=0) for d in (False, True)],
    *[Case("sort", (TIES.astype(t),), ref=sort, order=0) for t in ("int8", "uint16", "uint64", "bool")],
    Case("sort", (np.array([2.0, np.nan, -np.inf, np.inf, -0.0, 0.0, -1.0]),), ref=sort, order=0),
    Case("argsort", (np.array([2.0, np.nan, -np.inf, np.inf, 0.0, -0.0, -1.0]),), ref=argsort, order=0),
    *[Case("sort_with_index", (X,), kw, ref=both, pick=first) for kw in WAYS],
    Case("topk", (X,), {"k": 3}, ref=topk, pick=first),
    Case("topk", (X,), {"k": 2, "axis": 0, "largest": False}, ref=topk, pick=first),
    Case("topk", (TIES,), {"k": 3}, ref=topk, order=0),
    Case("topk", (X,), {"k": 0}, ref=topk, pick=first),
]
