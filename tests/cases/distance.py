"""Distances and similarities of vectors."""

from typing import Any

import numpy as np
from scipy import spatial

from tests.cases import Case, normal, uniform

X = normal(3, 4)
Y = normal(3, 4, seed=1)


def norm(x: Any, p: float, axis: int, keepdims: bool = False) -> Any:
    return np.linalg.norm(x, p, axis, keepdims)


def normalize(x: Any, p: float = 2.0, axis: int = 1, eps: float = 1e-12) -> Any:
    return x / np.maximum(norm(x, p, axis, True), eps)


def cosine_similarity(x: Any, y: Any, axis: int = 1, eps: float = 1e-8) -> Any:
    return (normalize(x, 2.0, axis, eps) * normalize(y, 2.0, axis, eps)).sum(axis)


def pairwise_distance(x: Any, y: Any, p: float = 2.0, eps: float = 1e-6, keepdims: bool = False) -> Any:
    return norm(x - y + eps, p, -1, keepdims)


def dist(x: Any, y: Any, p: float = 2.0) -> Any:
    return np.linalg.norm((x - y).ravel(), p)


def lerp(x: Any, y: Any, weight: Any) -> Any:
    return x + weight * (y - x)


def addcmul(x: Any, y: Any, z: Any, value: float = 1) -> Any:
    return x + value * y * z


def addcdiv(x: Any, y: Any, z: Any, value: float = 1) -> Any:
    return x + value * y / z


def cdist(x: Any, y: Any, p: float = 2.0) -> Any:
    d = np.abs(x[..., :, None, :] - y[..., None, :, :])
    return d.max(-1) if p == np.inf else (d != 0).sum(-1).astype(float) if p == 0 else (d**p).sum(-1) ** (1 / p)


def renorm(x: Any, p: float, axis: int, maxnorm: float) -> Any:
    others = tuple(a for a in range(x.ndim) if a != axis)
    lengths = (np.abs(x) ** p).sum(others, keepdims=True) ** (1 / p)
    return x * np.where(lengths > maxnorm, maxnorm / lengths, 1)


CASES = [
    Case("normalize", (X,), ref=normalize),
    Case("normalize", (X,), {"p": 3.0, "axis": 0}, ref=normalize),
    Case("normalize", (np.zeros((2, 3)),), ref=normalize, order=0),
    Case("cosine_similarity", (X, Y), ref=cosine_similarity),
    Case("cosine_similarity", (X, normal(4, seed=2)), {"axis": -1}, ref=cosine_similarity),
    Case("cosine_similarity", (X, np.zeros((3, 4))), ref=cosine_similarity, order=0),
    Case("pairwise_distance", (X, Y), ref=pairwise_distance),
    Case("pairwise_distance", (X, Y), {"p": 3.0, "keepdims": True}, ref=pairwise_distance),
    Case("pairwise_distance", (X, Y), {"p": 1.0, "eps": 0.0}, ref=pairwise_distance),
    Case("dist", (X, Y), ref=dist),
    Case("dist", (X, normal(4, seed=2)), {"p": 3.0}, ref=dist),
    Case("lerp", (X, Y, normal(3, 4, seed=2)), ref=lerp),
    Case("lerp", (X, normal(4, seed=1)), {"weight": 0.25}, ref=lerp),
    Case("lerp", (np.array([1, 2]), np.array([5, 7])), {"weight": 2}, ref=lerp),
    Case("addcmul", (X, Y, normal(3, 1, seed=2)), ref=addcmul),
    Case("addcmul", (X, normal(4, seed=1), Y), {"value": -0.5}, ref=addcmul),
    Case("addcmul", (np.array([1, 2]), np.array([5, 7]), np.array([2, 3])), {"value": 2}, ref=addcmul),
    Case("addcdiv", (X, Y, uniform(1, 2, 3, 1, seed=2)), ref=addcdiv),
    Case("addcdiv", (X, normal(4, seed=1), uniform(1, 2, 3, 4, seed=2)), {"value": -0.5}, ref=addcdiv),
    Case("cdist", (X, normal(2, 4, seed=1)), ref=cdist),
    *[Case("cdist", (normal(2, 1, 3, 4), normal(5, 2, 4, seed=1)), {"p": p}, ref=cdist) for p in (2.0, 3.0)],
    Case("cdist", (normal(3, 70), normal(40, 70, seed=1)), ref=cdist),
    Case("cdist", (normal(3, 0), normal(2, 0, seed=1)), ref=cdist, order=0),
    Case("cdist", (normal(0, 2), normal(2, 2, seed=1)), ref=cdist, order=0),
    *[Case("cdist", (X, normal(2, 4, seed=1)), {"p": p}, ref=cdist) for p in (0.0, 1.0, np.inf)],
    Case("pdist", (X,), ref=lambda x: spatial.distance.pdist(x)),
    Case("pdist", (X,), {"p": 1.0}, ref=lambda x, p: spatial.distance.pdist(x, "minkowski", p=p)),
    Case("pdist", (normal(1, 3),), ref=lambda x: np.zeros(0), order=0),
    Case("renorm", (X,), {"p": 2.0, "axis": 0, "maxnorm": 1.0}, ref=renorm, rtol=1e-6),
    Case("renorm", (X,), {"p": 1.0, "axis": 1, "maxnorm": 3.0}, ref=renorm, rtol=1e-6),
]
