"""Running sums, products and extremes along an axis."""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.integrate import cumulative_trapezoid, trapezoid

from tests.cases import Case, normal

X = normal(2, 3, 4)
ZEROS = np.array([[2.0, 0.0, 3.0, 0.0, 5.0], [0.0, 1.5, 2.0, 3.0, 4.0], [1.0, 2.0, 3.0, 4.0, 0.0]])


def running(better: Callable[..., Any], ufunc: np.ufunc) -> Callable[..., Any]:
    """Running extremes and the last position of each."""

    def ref(x: Any, axis: int | None = None) -> Any:
        x = np.moveaxis(x.reshape(-1) if axis is None else x, axis or 0, 0)
        places = np.zeros(x.shape, np.int64)
        values = ufunc.accumulate(x, axis=0)
        for k in range(1, len(x)):
            places[k] = np.where(better(x[k], values[k - 1]), k, places[k - 1])
        return np.moveaxis(values, 0, axis or 0), np.moveaxis(places, 0, axis or 0)

    return ref


def forward_variables(x: Any, skips: Any) -> Any:
    """The sums over paths, one by one."""
    out = np.full_like(x, -1e30)
    out[:, 0, :2] = x[:, 0, :2]
    for b, t, s in np.ndindex(x.shape):
        if t:
            moves = range(min(s, 2 if skips[b, s] else 1) + 1)
            out[b, t, s] = x[b, t, s] + np.logaddexp.reduce([out[b, t - 1, s - move] for move in moves])
    return out


def first(result: Any) -> Any:
    return result[0]


CASES = [
    Case(
        "ctc_alpha",
        (normal(2, 3, 4), np.array([[False, False, True, True], [False, False, False, True]])),
        ref=forward_variables,
        # The others are logarithms of nothing.
        pick=lambda scores: scores[:, 1:],
    ),
    *[Case("diff", (X,), kw, ref=np.diff) for kw in ({}, {"n": 2, "axis": 1}, {"axis": 0}, {"n": 0}, {"n": 9})],
    Case("diff", (np.array([True, False, False]),), ref=np.diff, order=0),
    Case("diff", (np.array([3, 7, 1]),), ref=np.diff, order=0),
    Case("diff", (normal(0, 3),), {"axis": 0}, ref=np.diff),
    Case(
        "diff",
        (X, X[:, :1], X[:, :2]),
        prepare=lambda x, before, after: (x, 1, 1, before, after),
        ref=np.diff,
    ),
    *[Case("cumsum", (X,), kw, ref=np.cumsum) for kw in ({}, {"axis": 0}, {"axis": 1}, {"axis": -1})],
    Case("cumsum", (np.array([100, 100, 100], np.int8),), ref=np.cumsum, order=0),
    Case("cumsum", (np.array([True, True, False]),), ref=np.cumsum, order=0),
    *[Case("cumprod", (X,), kw, ref=np.cumprod) for kw in ({}, {"axis": 0}, {"axis": 1}, {"axis": -1})],
    Case("cumprod", (ZEROS,), {"axis": 1}, ref=np.cumprod),
    Case("cumprod", (ZEROS,), {"axis": 0}, ref=np.cumprod),
    Case("cumprod", (np.array([100, 100, 100], np.uint8),), ref=np.cumprod, order=0),
    *[
        Case("cummax", (X,), kw, ref=running(np.greater_equal, np.maximum), pick=first)
        for kw in ({}, {"axis": 1}, {"axis": -1})
    ],
    *[
        Case("cummin", (X,), kw, ref=running(np.less_equal, np.minimum), pick=first)
        for kw in ({}, {"axis": 0}, {"axis": 2})
    ],
    Case("cummax", (np.array([1, 3, 2, 3]),), ref=running(np.greater_equal, np.maximum), order=0),
    *[Case("logcumsumexp", (X,), kw, ref=np.logaddexp.accumulate) for kw in ({"axis": 0}, {"axis": -1})],
    Case("logcumsumexp", (np.array([-np.inf, 0.5, -np.inf, 800.0, -3.0]),), ref=np.logaddexp.accumulate, order=0),
    Case("trapezoid", (X,), ref=trapezoid),
    Case("trapezoid", (X,), {"dx": 0.5, "axis": 0}, ref=trapezoid),
    Case("trapezoid", (X, normal(X.shape[1], seed=1)), {"axis": 1}, ref=trapezoid),
    Case("trapezoid", (X, normal(*X.shape, seed=1)), ref=trapezoid),
    Case("cumulative_trapezoid", (X,), ref=cumulative_trapezoid),
    Case("cumulative_trapezoid", (X, normal(X.shape[1], seed=1)), {"axis": 1}, ref=cumulative_trapezoid),
]
