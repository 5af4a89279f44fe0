"""Indexing: reads and writes of elements by position."""

from typing import Any

import numpy as np

from tests.cases import Case, normal


def index_put(x: np.ndarray, value: Any, indices: Any, accumulate: bool = False) -> np.ndarray:
    out = x.copy()
    if accumulate:
        np.add.at(out, indices, value)
    else:
        out[indices] = value
    return out


def along(op: str) -> Any:
    """``scatter``, ``scatter_add``, ``put_along_axis`` on arrays, written as a loop over the indices."""

    def run(x: np.ndarray, index: np.ndarray, values: Any, axis: int, reduce: str = "assign") -> np.ndarray:
        out = x.copy()
        full = np.broadcast_to(values, index.shape) if np.ndim(values) == 0 or op == "put_along_axis" else values
        for place in np.ndindex(*index.shape):
            to = list(place)
            to[axis] = index[place]
            if op == "scatter_add" or reduce == "add":
                out[tuple(to)] += full[place]
            else:
                out[tuple(to)] = full[place]
        return out

    return run


REDUCTIONS: dict[str, Any] = {
    "sum": np.sum,
    "prod": np.prod,
    "mean": np.mean,
    "amax": np.max,
    "amin": np.min,
}


def scatter_reduce(
    x: np.ndarray, axis: int, index: np.ndarray, src: np.ndarray, reduce: str, include_self: bool = True
) -> np.ndarray:
    groups: dict[tuple[int, ...], list[Any]] = {}
    for place in np.ndindex(*index.shape):
        to = list(place)
        to[axis] = index[place]
        groups.setdefault(tuple(to), [x[tuple(to)]] if include_self else []).append(src[place])
    out = x.copy()
    for target, values in groups.items():
        out[target] = REDUCTIONS[reduce](values)
    return out


def index_reduce(
    x: np.ndarray, axis: int, index: np.ndarray, source: np.ndarray, reduce: str, include_self: bool = True
) -> np.ndarray:
    out = np.moveaxis(x.copy(), axis, 0)
    parts, own = np.moveaxis(source, axis, 0), np.moveaxis(x, axis, 0)
    for i in set(index.tolist()):
        out[i] = REDUCTIONS[reduce]([*([own[i]] if include_self else []), *parts[index == i]], 0)
    return np.moveaxis(out, 0, axis)


def gather(x: np.ndarray, axis: int, index: np.ndarray) -> np.ndarray:
    out = np.empty(index.shape, x.dtype)
    for place in np.ndindex(*index.shape):
        at = list(place)
        at[axis] = index[place]
        out[place] = x[tuple(at)]
    return out


def index_add(x: np.ndarray, source: np.ndarray, axis: int, index: np.ndarray) -> np.ndarray:
    out = x.copy()
    np.add.at(np.moveaxis(out, axis, 0), index, np.moveaxis(source, axis, 0))
    return out


def select_scatter(x: np.ndarray, y: np.ndarray, axis: int, index: int) -> np.ndarray:
    out = x.copy()
    np.moveaxis(out, axis, 0)[index] = y
    return out


def slice_scatter(
    x: np.ndarray, y: np.ndarray, axis: int = 0, start: Any = None, stop: Any = None, step: int = 1
) -> Any:
    out = x.copy()
    np.moveaxis(out, axis, 0)[start:stop:step] = np.moveaxis(y, axis, 0)
    return out


def masked_fill(x: np.ndarray, mask: np.ndarray, value: float) -> np.ndarray:
    return np.where(mask, value, x)


def masked_scatter(x: np.ndarray, mask: np.ndarray, source: np.ndarray) -> np.ndarray:
    out = x.copy()
    out[mask] = source.ravel()[: mask.sum()]
    return out


def index_fill(x: np.ndarray, axis: int, index: np.ndarray, value: float) -> np.ndarray:
    out = x.copy()
    np.moveaxis(out, axis, 0)[index] = value
    return out


def one_hot(x: np.ndarray, num_classes: int = -1, dtype: Any = np.int64) -> np.ndarray:
    return np.asarray(np.eye(num_classes if num_classes >= 0 else x.max() + 1, dtype=dtype)[x])


X = normal(3, 4, 2)
TWICE = np.array([2, 0, 2, -1])
GRID = np.array([[1, -1], [0, 1]])
MASK = np.array([[True, False, True, False]] * 2 + [[False] * 4])
SPARSE = np.array([[0, 3, 0], [4, 0, -5]])
LOW = np.array([[[0, 1], [2, 2]], [[1, 0], [0, 2]]])


def weighted(x: Any, index: Any, weight: Any) -> Any:
    """Sums of elements, one by one; an index that is not there adds nothing."""
    out = np.zeros((*x.shape[:2], index.shape[2]))
    for b, j, p in np.ndindex(index.shape):
        if 0 <= index[b, j, p] < x.shape[2]:
            out[b, :, p] += weight[b, j, p] * x[b, :, index[b, j, p]]
    return out


CASES = [
    Case("take", (X, TWICE), {"axis": 1}, ref=np.take),
    Case("take", (X, GRID), {"axis": -1}, ref=np.take),
    Case("take", (X, np.array(5)), ref=np.take),
    Case("take", (X, np.zeros((0, 2), np.int64)), {"axis": 0}, ref=np.take),
    Case("index_select", (X,), {"axis": 1, "index": TWICE}, ref=lambda x, axis, index: np.take(x, index, axis)),
    Case("gather", (X,), {"axis": 0, "index": LOW}, ref=gather),
    Case("gather", (X,), {"axis": 1, "index": LOW}, ref=gather),
    Case(
        "weighted_gather",
        (normal(2, 3, 4), np.array([[[0, 3], [1, -1]], [[2, 2], [4, 0]]]), normal(2, 2, 2, seed=1)),
        ref=weighted,
    ),
    Case("weighted_gather", (normal(2, 0, 4), np.zeros((2, 3, 1), int), normal(2, 3, 1)), ref=weighted),
    Case("take_along_axis", (X, np.argsort(X, 1)), {"axis": 1}, ref=np.take_along_axis),
    Case("take_along_axis", (X, np.array([[[1, 0, 1]]])), {"axis": 2}, ref=np.take_along_axis),
    Case("take_along_axis", (X, TWICE), {"axis": None}, ref=np.take_along_axis),
    Case(
        "put_along_axis",
        (X, LOW[:1, :1, :], normal(seed=1)),
        {"axis": 1},
        ref=lambda x, i, v, axis: along("put_along_axis")(x, np.broadcast_to(i, (3, 1, 2)), v, axis),
    ),
    Case(
        "put_along_axis",
        (X, np.argsort(X, 1)[:, :2], normal(3, 2, 1, seed=1)),
        {"axis": 1, "reduce": "add"},
        ref=along("put_along_axis"),
    ),
    Case(
        "scatter",
        (X,),
        {"axis": 1, "index": LOW, "src": 2.0},
        ref=lambda x, axis, index, src: along("scatter")(x, index, src, axis),
    ),
    Case(
        "scatter_add",
        (X,),
        {"axis": 0, "index": LOW, "src": 2.0},
        ref=lambda x, axis, index, src: along("scatter_add")(x, index, src, axis),
    ),
    Case(
        "index_add",
        (X,),
        {"axis": 1, "index": TWICE, "source": normal(3, 4, 2, seed=1)},
        ref=lambda x, axis, index, source: index_add(x, source, axis, index),
    ),
    *(
        Case(
            "scatter_reduce",
            (X, normal(3, 4, 2, seed=1)),
            {"reduce": reduce, "include_self": include},
            prepare=lambda x, src: (x, 0, LOW, src),
            ref=scatter_reduce,
        )
        for reduce in REDUCTIONS
        for include in (True, False)
    ),
    *(
        Case(
            "index_reduce",
            (X, normal(3, 4, 2, seed=1)),
            {"reduce": reduce, "include_self": include},
            prepare=lambda x, source: (x, 1, TWICE, source),
            ref=index_reduce,
        )
        for reduce in ("prod", "mean", "amax", "amin")
        for include in (True, False)
    ),
    Case(
        "index_copy",
        (X,),
        {"axis": 1, "index": np.array([2, 0]), "source": normal(3, 2, 2, seed=1)},
        ref=lambda x, axis, index, source: index_add(x, source - x[:, index], axis, index),
    ),
    Case("index_fill", (X,), {"axis": 1, "index": TWICE, "value": 2}, ref=index_fill),
    Case("select", (X,), {"axis": 1, "index": -2}, ref=lambda x, axis, index: x[:, index]),
    Case("narrow", (X,), {"axis": 1, "start": -3, "length": 2}, ref=lambda x, axis, start, length: x[:, 1:3]),
    Case("select_scatter", (X, normal(3, 2, seed=1)), {"axis": 1, "index": 2}, ref=select_scatter),
    Case("slice_scatter", (X, normal(3, 2, 2, seed=1)), {"axis": 1, "start": 1, "step": 2}, ref=slice_scatter),
    Case(
        "index_put",
        (X,),
        {"indices": (slice(None), TWICE), "value": 1.5},
        ref=lambda x, indices, value: index_put(x, value, indices),
    ),
    Case(
        "index_put",
        (X,),
        {"indices": (TWICE,), "value": np.ones((4, 4, 2)), "accumulate": True},
        ref=lambda x, indices, value, accumulate: index_put(x, value, indices, accumulate),
    ),
    Case(
        "index_put",
        (X,),
        {"indices": (TWICE, slice(1, 3), GRID[0, 0]), "value": 2, "accumulate": True},
        ref=lambda x, indices, value, accumulate: index_put(x, value, indices, accumulate),
    ),
    Case("masked_fill", (X[..., 0], MASK), {"value": 2.5}, ref=masked_fill),
    Case("masked_fill", (X, MASK[:, :, None]), {"value": -1}, ref=masked_fill),
    Case("masked_select", (X[..., 0], MASK), ref=lambda x, mask: x[mask]),
    Case("masked_select", (X, MASK[:, :, None]), ref=lambda x, mask: x[np.broadcast_to(mask, x.shape)]),
    Case("masked_scatter", (X[..., 0], MASK, normal(2, 3, seed=1)), ref=masked_scatter),
    Case("nonzero", (SPARSE,), ref=np.nonzero, order=0),
    Case("argwhere", (SPARSE,), ref=np.argwhere, order=0),
    Case("one_hot", (GRID % 2,), ref=one_hot, order=0),
    Case("one_hot", (np.array([0, 2]),), {"num_classes": 4, "dtype": "float32"}, ref=one_hot, order=0),
]
