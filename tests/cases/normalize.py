"""Softmax and related functions, and normalisation layers."""

from typing import Any

import numpy as np
from scipy import special

from tests.cases import Case, normal, uniform

X = normal(2, 3, 4) * 3


def layer_norm(x: Any, normalized_shape: Any, weight: Any = None, bias: Any = None, eps: float = 1e-05) -> Any:
    axes = tuple(range(x.ndim - len(normalized_shape), x.ndim))
    y = (x - x.mean(axes, keepdims=True)) / np.sqrt(x.var(axes, keepdims=True) + eps)
    y = y if weight is None else y * weight
    return y if bias is None else y + bias


def rms_norm(x: Any, normalized_shape: Any, weight: Any = None, eps: float = 1e-05) -> Any:
    axes = tuple(range(x.ndim - len(normalized_shape), x.ndim))
    y = x / np.sqrt((x * x).mean(axes, keepdims=True) + eps)
    return y if weight is None else y * weight


def group_norm(x: Any, groups: int, weight: Any = None, bias: Any = None, eps: float = 1e-05) -> Any:
    y = layer_norm(x.reshape(x.shape[0], groups, -1), [x.size // x.shape[0] // groups], eps=eps).reshape(x.shape)
    column = (-1, *[1] * (x.ndim - 2))
    y = y if weight is None else y * weight.reshape(column)
    return y if bias is None else y + bias.reshape(column)


def batch_norm(x: Any, weight: Any = None, bias: Any = None, eps: float = 1e-05) -> Any:
    axes, column = (0, *range(2, x.ndim)), (-1, *[1] * (x.ndim - 2))
    mean, variance = x.mean(axes), x.var(axes)
    y = (x - mean.reshape(column)) / np.sqrt(variance.reshape(column) + eps)
    y = y if weight is None else y * weight.reshape(column)
    return (y if bias is None else y + bias.reshape(column)), mean, variance


CASES = [
    Case("logaddexp", (normal(2, 3), normal(3, seed=1)), ref=np.logaddexp),
    Case("logaddexp2", (normal(2, 3), normal(3, seed=1)), ref=np.logaddexp2),
    Case("logaddexp", (np.array([0.0, 1.0]), np.array([0.0, 1.0])), ref=np.logaddexp),
    Case(
        "logaddexp",
        (np.array([np.inf, -np.inf, -np.inf, 1e300]), np.array([1.0, -np.inf, 2.0, 1.0])),
        ref=np.logaddexp,
        order=0,
    ),
    *[Case("softmax", (X,), {"axis": axis}, ref=special.softmax) for axis in (-1, 0, 1)],
    *[Case("log_softmax", (X,), {"axis": axis}, ref=special.log_softmax) for axis in (-1, 0, 1)],
    *[
        Case("logsumexp", (X,), kw, ref=special.logsumexp)
        for kw in ({}, {"axis": 1}, {"axis": (0, 2), "keepdims": True}, {"axis": -1})
    ],
    Case("layer_norm", (X,), {"normalized_shape": [4]}, ref=layer_norm, rtol=1e-11),
    Case(
        "layer_norm",
        (normal(2, 3, 2),),
        {"normalized_shape": [3, 2], "weight": uniform(0.5, 2, 3, 2), "bias": normal(3, 2, seed=2), "eps": 0.1},
        ref=layer_norm,
        rtol=1e-11,
    ),
    *[
        Case(
            "layer_norm",
            (normal(2, 2, 3), uniform(0.5, 2, 3), normal(3, seed=2))[:n],
            {"eps": 0.1, **kw},
            ref=layer_norm,
            prepare=lambda x, *channels: (x, [3], *channels),
            rtol=1e-11,
        )
        for n, kw in ((3, {}), (2, {}), (1, {"bias": normal(3, seed=2)}))
    ],
    Case("rms_norm", (X,), {"normalized_shape": [4]}, ref=rms_norm, rtol=1e-11),
    Case(
        "rms_norm",
        (normal(2, 3, 2), uniform(0.5, 2, 3, 2)),
        {"eps": 0.1},
        ref=rms_norm,
        prepare=lambda x, w: (x, [3, 2], w),
    ),
    Case("group_norm", (normal(2, 4, 3, 2),), {"groups": 2}, ref=group_norm, rtol=1e-11),
    Case(
        "group_norm",
        (normal(3, 4), uniform(0.5, 2, 4), normal(4, seed=2)),
        {"eps": 0.1},
        ref=group_norm,
        prepare=lambda x, w, b: (x, 1, w, b),
        rtol=1e-11,
    ),
    *[
        Case(
            "group_norm",
            (normal(*shape), uniform(0.5, 2, 4), normal(4, seed=2)),
            {"eps": 0.1},
            ref=group_norm,
            prepare=lambda x, w, b: (x, 2, w, b),
            rtol=1e-11,
        )
        for shape in ((2, 4), (2, 4, 2), (1, 4, 2, 1))
    ],
    *[
        Case(
            "batch_norm",
            (normal(*shape), uniform(0.5, 2, 3), normal(3, seed=2))[:n],
            {"eps": 0.1},
            ref=batch_norm,
            pick=lambda r: r[0],
            rtol=1e-11,
        )
        for shape, n in (((4, 3), 3), ((2, 3, 2), 2), ((2, 3, 2, 2), 1), ((1, 3, 5), 3))
    ],
]
