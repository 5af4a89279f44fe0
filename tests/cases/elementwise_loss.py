"""Losses computed element by element and then reduced."""

from typing import Any

import numpy as np
from scipy import special

from tests.cases import Case, normal, uniform

X = normal(3, 4) * 2
Y = normal(3, 4, seed=1)
P = uniform(0.05, 0.95, 3, 4)
T = uniform(0, 1, 3, 4, seed=1)
HARD = (T > 0.5) * 1.0
W = uniform(0.5, 2, 4, seed=2)


def reduce(loss: Any, reduction: str) -> Any:
    return {"none": loss, "sum": loss.sum(), "mean": loss.mean(), "batchmean": loss.sum() / loss.shape[0]}[reduction]


def mse_loss(x: Any, y: Any, reduction: str = "mean") -> Any:
    return reduce((x - y) ** 2, reduction)


def l1_loss(x: Any, y: Any, reduction: str = "mean") -> Any:
    return reduce(np.abs(x - y), reduction)


def huber_loss(x: Any, y: Any, reduction: str = "mean", delta: float = 1.0) -> Any:
    return reduce(special.huber(delta, x - y), reduction)


def smooth_l1_loss(x: Any, y: Any, reduction: str = "mean", beta: float = 1.0) -> Any:
    return reduce(special.huber(beta, x - y) / beta if beta else np.abs(x - y), reduction)


def binary_cross_entropy(x: Any, y: Any, weight: Any = 1.0, reduction: str = "mean") -> Any:
    with np.errstate(divide="ignore"):
        loss = -(y * np.maximum(np.log(x), -100) + (1 - y) * np.maximum(np.log1p(-x), -100))
    return reduce(loss * weight, reduction)


def binary_cross_entropy_with_logits(
    x: Any, y: Any, weight: Any = 1.0, reduction: str = "mean", pos_weight: Any = 1.0
) -> Any:
    loss = pos_weight * y * np.logaddexp(0, -x) + (1 - y) * np.logaddexp(0, x)
    return reduce(loss * weight, reduction)


def kl_div(x: Any, y: Any, reduction: str = "mean", log_target: bool = False) -> Any:
    return reduce(np.exp(y) * (y - x) if log_target else special.xlogy(y, y) - y * x, reduction)


PAIRS: list[Any] = [mse_loss, l1_loss, huber_loss, smooth_l1_loss]
EDGES = np.array([0.0, 0.0, 1.0, 1.0, 0.5])
CASES = [
    *(Case(f.__name__, (X, Y), ref=f) for f in PAIRS),
    *(Case(f.__name__, (X, Y), {"reduction": "sum"}, ref=f) for f in PAIRS),
    *(Case(f.__name__, (X, Y[0]), {"reduction": "none"}, ref=f) for f in PAIRS),
    *(Case(f.__name__, (np.array([1, 2]), np.array([1, 4])), ref=lambda x, y, f=f: np.float32(f(x, y))) for f in PAIRS),
    Case("huber_loss", (X, Y), {"delta": 0.5}, ref=huber_loss),
    Case("smooth_l1_loss", (X, Y), {"beta": 0.5}, ref=smooth_l1_loss),
    Case("smooth_l1_loss", (X, Y), {"beta": 0.0}, ref=smooth_l1_loss),
    Case("binary_cross_entropy", (P, T), ref=binary_cross_entropy),
    Case("binary_cross_entropy", (P, T, W), {"reduction": "none"}, ref=binary_cross_entropy),
    Case("binary_cross_entropy", (EDGES, np.array([0.0, 1, 0, 1, 0.5])), ref=binary_cross_entropy, order=0),
    Case("binary_cross_entropy_with_logits", (X, T), ref=binary_cross_entropy_with_logits),
    Case("binary_cross_entropy_with_logits", (X, HARD, W), {"reduction": "sum"}, ref=binary_cross_entropy_with_logits),
    Case(
        "binary_cross_entropy_with_logits",
        (X, T, W, W + 1),
        prepare=lambda x, y, w, v: (x, y, w, "mean", v),
        ref=binary_cross_entropy_with_logits,
    ),
    Case(
        "binary_cross_entropy_with_logits",
        (np.array([-1000.0, 1000.0]), np.array([1.0, 1.0])),
        ref=binary_cross_entropy_with_logits,
        order=0,
    ),
    Case("kl_div", (X, T), ref=kl_div),
    Case("kl_div", (X, T), {"reduction": "batchmean"}, ref=kl_div),
    Case("kl_div", (X, Y), {"reduction": "none", "log_target": True}, ref=kl_div),
    Case("kl_div", (X, HARD), ref=kl_div, wrt=(0,)),
]
