"""Losses for classification."""

from typing import Any

import numpy as np
from scipy import special

from tests.cases import Case, normal, uniform

X = normal(5, 4) * 2
IMAGE = normal(2, 3, 2, 2)
T = np.array([1, 3, 0, 3, 2])
HOLES = np.array([1, -100, 0, -100, 2])
WEIGHT = uniform(0.5, 2, 4)
SOFT = special.softmax(normal(5, 4, seed=3), axis=1)


def reduce(loss: np.ndarray, weights: np.ndarray, reduction: str) -> Any:
    total = {"none": loss, "sum": loss.sum(), "mean": loss.sum() / weights.sum()}
    return total[reduction]


def nll_loss(
    x: Any, target: Any, weight: Any = None, ignore_index: int = -100, reduction: str = "mean", axis: int | None = None
) -> Any:
    x = np.moveaxis(x, (1 if x.ndim > 1 else 0) if axis is None else axis, -1)
    target = target.reshape(x.shape[:-1])
    live = target != ignore_index
    t = np.where(live, target, 0)
    w = (np.ones(x.shape[-1]) if weight is None else weight)[t] * live
    return reduce(-np.take_along_axis(x, t[..., None], -1)[..., 0] * w, w, reduction)


def cross_entropy(
    x: Any,
    target: Any,
    weight: Any = None,
    ignore_index: int = -100,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
    axis: int | None = None,
) -> Any:
    axis = (1 if x.ndim > 1 else 0) if axis is None else axis
    p = special.log_softmax(x, axis=axis)
    c = x.shape[axis]
    w = np.moveaxis(np.broadcast_to(np.ones(c) if weight is None else weight, (*np.delete(x.shape, axis), c)), -1, axis)
    if target.dtype.kind == "f":
        loss = -(w * ((1 - label_smoothing) * target + label_smoothing / c) * p).sum(axis)
        return reduce(loss, np.ones(loss.shape), reduction)
    hard = nll_loss(p, target, weight, ignore_index, "none", axis)
    live = target.reshape(hard.shape) != ignore_index
    loss = (1 - label_smoothing) * hard - label_smoothing / c * (w * p).sum(axis) * live
    weights = nll_loss(-np.ones(x.shape), target, weight, ignore_index, "none", axis)
    return reduce(loss, weights, reduction)


VARIANTS: list[dict[str, Any]] = [{}, {"reduction": "sum"}, {"reduction": "none"}, {"label_smoothing": 0.1}]


CASES = [
    *[Case("cross_entropy", (X, t), kw, ref=cross_entropy) for t in (T, HOLES) for kw in VARIANTS],
    *[Case("cross_entropy", (X, t, WEIGHT), kw, ref=cross_entropy) for t in (T, HOLES) for kw in VARIANTS],
    *[Case("cross_entropy", (X, SOFT), kw, ref=cross_entropy) for kw in VARIANTS],
    Case("cross_entropy", (X, SOFT, WEIGHT), {"label_smoothing": 0.2}, ref=cross_entropy),
    Case("cross_entropy", (X[0], np.array(2)), ref=cross_entropy),
    Case("cross_entropy", (IMAGE, np.array([[[0, 2], [1, 1]], [[2, 2], [-100, 0]]])), ref=cross_entropy),
    Case("cross_entropy", (X, T[:, None]), {"axis": -1}, ref=cross_entropy),
    Case("cross_entropy", (normal(2, 3, 4), np.array([[1, 0, 3], [2, 2, 1]])), {"axis": -1}, ref=cross_entropy),
    *[Case("nll_loss", (X, t), kw, ref=nll_loss) for t in (T, HOLES) for kw in VARIANTS[:3]],
    Case("nll_loss", (X, HOLES, WEIGHT), ref=nll_loss),
]
