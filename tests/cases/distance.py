"""Distances and similarities of vectors."""

from typing import Any

import numpy as np

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


CASES = [
    Case("normalize", (X,), ref=normalize),
    Case("normalize", (X,), {"p": 3.0, "axis": 0}, ref=normalize),
    Case("normalize", (np.zeros((2, 3)),), ref=normalize, order=0),
    Case("cosine_similarity", (X, Y), ref=cosine_similarity),
    Case("cosine_similarity", (X, normal(4, seed=2)), {"axis": -1}, ref=cosine_similarity, order=2),
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
]
