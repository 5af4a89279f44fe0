"""Reductions over axes."""

from collections.abc import Callable
from typing import Any

import numpy as np

from tests.cases import Case, normal, uniform

X = normal(2, 3, 4)
ZEROS = np.array([[2.0, 0.0, 3.0], [0.0, 0.0, 4.0], [1.5, -2.0, 0.5]])
AXES: list[dict[str, Any]] = [
    {},
    {"axis": 1},
    {"axis": (0, -1), "keepdims": True},
    {"axis": -1, "keepdims": True},
    {"axis": ()},
]


def variants(op: str, ref: Callable[..., Any], x: Any = X, **more: Any) -> list[Case]:
    return [Case(op, (x,), kw, ref=ref, **more) for kw in AXES]


def ddof(f: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x, correction=0.0, **kw: f(x, ddof=correction, **kw)


def norm(x: Any, p: Any = 2.0, axis: Any = None, keepdims: bool = False) -> Any:
    """The p-norm by its definition, for any order."""
    axis = tuple(range(x.ndim)) if axis is None else axis
    a, p = np.abs(x), 2.0 if p == "fro" else p
    if p == 0:
        return np.count_nonzero(x, axis=axis, keepdims=keepdims).astype(x.dtype)
    if np.isinf(p):
        return (np.max if p > 0 else np.min)(a, axis=axis, keepdims=keepdims)
    return np.sum(a**p, axis=axis, keepdims=keepdims) ** (1 / p)


def lower_median(x: Any, axis: int | None, keepdims: bool = False) -> Any:
    """The lower median and its position."""
    i = np.argsort(x, axis=axis, kind="stable").take([(x.shape[axis] - 1) // 2], axis=axis)
    v = np.take_along_axis(x, i, axis)
    return (v, i) if keepdims else (v.squeeze(axis), i.squeeze(axis))


def with_index(value: Callable[..., Any], where: Any) -> Callable[..., Any]:
    return lambda x, axis, keepdims=False: (
        value(x, axis=axis, keepdims=keepdims),
        where(x, axis=axis, keepdims=keepdims),
    )


def first(result: Any) -> Any:
    return result[0]


HOLES = np.array([[1.0, np.nan, 3.0], [np.nan, np.nan, np.nan], [0.5, -2.0, np.nan]])

#: Which elements of ``X`` a reduction takes. Each row along the axis has two of them.
SELECTED: list[tuple[dict[str, Any], np.ndarray]] = [
    ({}, X > 0),
    ({"axis": 0}, np.ones_like(X, bool)),
    ({"axis": -1, "keepdims": True}, np.array([True, False, True, False])),
]


def mean_of_selected(x: Any, where: Any) -> Any:
    return np.mean(np.broadcast_to(x, where.shape), where=where)


CASES = [
    *variants("nansum", np.nansum),
    Case("nansum", (HOLES,), {"axis": 1}, ref=np.nansum, order=0),
    Case("nansum", (np.array([1, 2]),), ref=np.nansum, order=0),
    *variants("ptp", np.ptp)[:4],
    Case("nanmean", (X,), {"axis": (0, -1), "keepdims": True}, ref=np.nanmean),
    Case("nanmean", (HOLES,), {"axis": 0}, ref=np.nanmean, order=0),
    Case("nan_to_num", (X,), ref=np.nan_to_num),
    Case("nan_to_num", (np.array([np.nan, np.inf, -np.inf, 1.5]),), ref=np.nan_to_num, order=0),
    Case(
        "nan_to_num",
        (np.array([np.nan, np.inf, -np.inf, 1.5]),),
        {"nan": 7.0, "posinf": 8.0, "neginf": -9.0},
        ref=np.nan_to_num,
        order=0,
    ),
    Case("nan_to_num", (np.array([1, 2]),), ref=np.nan_to_num, order=0),
    *variants("sum", np.sum),
    Case("sum", (np.array([True, False, True]),), ref=np.sum, order=0),
    Case("sum", (np.array([[200, 100], [7, 1]], np.uint8),), {"axis": 0}, ref=np.sum, order=0),
    Case("sum", (np.array([2**62, 2**61, -5]),), ref=np.sum, order=0),
    Case("sum", (normal(0, 3),), {"axis": 0}, ref=np.sum),
    *variants("mean", np.mean),
    Case("mean", (np.array([True, False, True]),), ref=lambda x: np.mean(x, dtype=np.float32), order=0, rtol=1e-6),
    *variants("prod", np.prod),
    Case("prod", (ZEROS,), ref=np.prod),
    Case("prod", (ZEROS,), {"axis": 0}, ref=np.prod),
    Case("prod", (ZEROS,), {"axis": -1, "keepdims": True}, ref=np.prod),
    Case("prod", (np.array([3, 4, -5], np.int8),), ref=np.prod, order=0),
    Case("prod", (normal(3, 0),), {"axis": 1}, ref=np.prod),
    *variants("max", np.max),
    *variants("min", np.min),
    Case("max", (np.array([[True, False], [False, False]]),), {"axis": 1}, ref=np.max, order=0),
    Case("min", (np.array([[3, -7], [2, 120]], np.int8),), {"axis": 0}, ref=np.min, order=0),
    *variants("median", np.median),
    Case("median", (normal(5, 3),), {"axis": 0}, ref=np.median),
    Case("max_with_index", (X,), {"axis": 1}, ref=with_index(np.max, np.argmax), pick=first),
    Case("max_with_index", (X,), {"axis": -1, "keepdims": True}, ref=with_index(np.max, np.argmax), pick=first),
    Case("min_with_index", (X,), {"axis": 0}, ref=with_index(np.min, np.argmin), pick=first),
    Case("median_with_index", (X,), {"axis": -1}, ref=lower_median, pick=first),
    Case("median_with_index", (X,), {"axis": 1, "keepdims": True}, ref=lower_median, pick=first),
    Case("argmax", (X,), ref=np.argmax, order=0),
    Case("argmax", (X,), {"axis": 1}, ref=np.argmax, order=0),
    Case("argmax", (X,), {"keepdims": True}, ref=np.argmax, order=0),
    Case("argmin", (X,), ref=np.argmin, order=0),
    Case(
        "argmin", (np.array([[2, 1, 1], [0, 0, 0]], np.uint8),), {"axis": -1, "keepdims": True}, ref=np.argmin, order=0
    ),
    *variants("any", np.any, np.array([[[0.0, 0.0], [np.nan, 0.0]]]), order=0),
    *variants("all", np.all, np.array([[[0.0, 1.0], [np.nan, 2.0]]]), order=0),
    Case("any", (np.array([[1, 0], [0, 0]], np.int16),), {"axis": 1}, ref=np.any, order=0),
    Case("all", (np.array([[True, True], [False, True]]),), {"axis": 0}, ref=np.all, order=0),
    *variants("count_nonzero", lambda x, **kw: np.asarray(np.count_nonzero(x, **kw), np.int64), np.round(X), order=0),
    *variants("var", ddof(np.var)),
    *variants("std", ddof(np.std), normal(2, 3, 4) * 3)[:4],
    Case("var", (X,), {"axis": (0, 2), "correction": 1.0}, ref=ddof(np.var)),
    Case("std", (X,), {"axis": 1, "correction": 1.0, "keepdims": True}, ref=ddof(np.std)),
    *variants("norm", norm),
    *[
        Case("norm", (uniform(0.5, 2, 2, 3) * [1, -1, 1],), {"p": p, "axis": 1}, ref=norm)
        for p in (0.0, 0.5, 1.0, 3.0, -1.0)
    ],
    *[Case("norm", (X,), {"p": p, "axis": (0, 2)}, ref=norm) for p in (2.0, 3.0, np.inf, -np.inf, "fro")],
    Case("cov", (normal(3, 4),), ref=np.cov),
    Case("cov", (normal(4),), {"correction": 0.0}, ref=lambda x, correction: np.cov(x, ddof=correction)),
    Case(
        "cov",
        (normal(3, 4), np.array([1, 2, 0, 3]), uniform(0.5, 2, 4)),
        ref=lambda x, f, a: np.cov(x, fweights=f, aweights=a),
        prepare=lambda x, f, a: (x, 1.0, f, a) if not isinstance(x, np.ndarray) else (x, f, a),
    ),
    Case("cov", (normal(1, 4),), ref=np.cov),
    Case("cov", (normal(4, 3),), {"rowvar": False, "ddof": 0}, ref=np.cov),
    Case("corrcoef", (normal(4, 3),), {"rowvar": False}, ref=np.corrcoef),
    Case("std", (X,), {"axis": 1, "ddof": 1}, ref=np.std),
    Case("var", (X,), {"ddof": 1, "keepdims": True}, ref=np.var),
    *[
        Case(op, (X,), {**kw, "where": where}, ref=getattr(np, op))
        for op in ("sum", "prod", "mean", "var", "std")
        for kw, where in SELECTED
    ],
    *[
        Case(op, (np.round(X),), {**kw, "where": where}, ref=getattr(np, op), order=0)
        for op in ("any", "all", "sum", "prod")
        for kw, where in SELECTED
    ],
    Case("sum", (np.array([2**62, 3, -5]),), {"where": np.array([True, False, True])}, ref=np.sum, order=0),
    Case("mean", (normal(3),), {"where": np.array([[True, False, True], [False, True, True]])}, ref=mean_of_selected),
    Case("corrcoef", (normal(3, 4),), ref=np.corrcoef),
    Case("corrcoef", (normal(4),), ref=np.corrcoef),
]
