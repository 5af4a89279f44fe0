"""Sorting along an axis."""

from typing import Any

import numpy as np

from tests.cases import Case, normal

X = normal(3, 4, 5)
COMPLEX = np.array([1 + 2j, 1 - 2j, 0, 1 + 2j, -0.0, -3j])
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


def kthvalue(x: Any, k: int, axis: int = -1, keepdims: bool = False) -> Any:
    kept = [part.take([k - 1], axis=axis) for part in both(x, axis)]
    return tuple(part if keepdims else part.squeeze(axis) for part in kept)


def mode(x: Any, axis: int = -1, keepdims: bool = False) -> Any:
    """The most frequent element, the smallest of several, and its last index."""

    def one(row: Any) -> Any:
        values, counts = np.unique(row, return_counts=True)
        return values[counts.argmax()]

    values = np.expand_dims(np.apply_along_axis(one, axis, x), axis)
    n = x.shape[axis]
    indices = n - 1 - np.flip(x == values, axis).argmax(axis, keepdims=True)
    return tuple(part if keepdims else part.squeeze(axis) for part in (values, indices))


def quantile(x: Any, q: Any, interpolation: str) -> Any:
    return np.quantile(x, q, method=interpolation)  # type: ignore[call-overload]


def searchsorted_rows(x: Any, y: Any) -> Any:
    rows = [np.searchsorted(a, v) for a, v in zip(x.reshape(-1, x.shape[-1]), y.reshape(-1, y.shape[-1]), strict=True)]
    return np.stack(rows).reshape(y.shape)


def unique_all(x: Any, equal_nan: bool = False) -> Any:
    found = np.unique(x, True, True, True, equal_nan=equal_nan)
    return (found[0], found[1], found[2].reshape(x.shape), found[3])


RISING = np.array([-1.0, 0.5, 0.5, 3.0])
HOLES = np.array([[1.0, np.nan, 3.0, 2.0], [np.nan, np.nan, 5.0, 4.0]])

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
    Case("msort", (X,), ref=lambda x: np.sort(x, axis=0)),
    Case("kthvalue", (X,), {"k": 2}, ref=kthvalue, pick=first),
    Case("kthvalue", (X,), {"k": 4, "axis": 1, "keepdims": True}, ref=kthvalue, pick=first),
    Case("kthvalue", (TIES,), {"k": 3}, ref=kthvalue, order=0),
    Case("mode", (np.round(X),), {"axis": 1}, ref=mode, order=0),
    Case("mode", (normal(3, 4),), ref=mode, pick=first),
    Case("mode", (TIES,), {"keepdims": True}, ref=mode, order=0),
    *[
        Case("quantile", (X,), {"q": 0.3, "axis": a, "keepdims": k}, ref=np.quantile)
        for a, k in ((None, False), (0, True), (-1, False), ((0, 2), True))
    ],
    *[
        Case("quantile", (normal(7),), {"q": 0.3, "interpolation": i}, ref=quantile)
        for i in ("linear", "lower", "higher", "nearest", "midpoint")
    ],
    Case("quantile", (normal(3, 4), np.array([0.0, 0.2, 1.0])), {"axis": 1}, ref=np.quantile, wrt=(0,)),
    Case("quantile", (normal(3, 4), np.array([0.1, 0.5])), {"axis": 1}, ref=np.quantile),
    Case("quantile", (np.array([1.0, np.nan, 3.0]),), {"q": 0.5}, ref=np.quantile, order=0),
    Case("nanquantile", (HOLES, np.array([0.1, 0.6])), {"axis": 1}, ref=np.nanquantile, order=0),
    Case("nanquantile", (normal(3, 4),), {"q": 0.6}, ref=np.nanquantile),
    Case("searchsorted", (RISING, np.array([[0.5, 1.0], [3.0, 9.0]])), ref=np.searchsorted, order=0),
    Case("searchsorted", (RISING, normal(5)), {"side": "right"}, ref=np.searchsorted, order=0),
    Case("searchsorted", (np.sort(X), normal(3, 4, 2, seed=1)), ref=searchsorted_rows, order=0),
    Case("bucketize", (np.array([[0.5, 1.0], [3.0, 9.0]]), RISING), ref=lambda x, b: np.searchsorted(b, x), order=0),
    Case("isin", (TIES, np.array([1, 7])), ref=np.isin, order=0),
    Case("isin", (TIES, np.array([], np.int64)), {"invert": True}, ref=np.isin, order=0),
    Case("isin", (COMPLEX, np.array([1 + 2j, 0])), ref=np.isin, order=0),
    Case("unique_all", (COMPLEX,), ref=unique_all, order=0),
    Case("unique_all", (TIES,), ref=unique_all, order=0),
    Case("unique_all", (normal(2, 3),), ref=unique_all, pick=first),
    Case("unique_all", (np.array([1.0, np.nan, np.nan]),), ref=unique_all, order=0),
    Case("unique_all", (np.array([1.0, np.nan, np.nan]),), {"equal_nan": True}, ref=unique_all, order=0),
    Case("bincount", (np.array([3, 1, 1, 0]),), ref=np.bincount, order=0),
    Case("bincount", (np.array([3, 1, 1]),), {"minlength": 6}, ref=np.bincount, order=0),
    Case("bincount", (np.array([3, 1, 1]), normal(3)), ref=np.bincount, wrt=(1,)),
]
