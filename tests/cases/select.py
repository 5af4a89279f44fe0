"""``where`` and ``clip``: elements chosen by a condition or kept within bounds."""

from typing import Any

import numpy as np

from tests.cases import Case, normal

C = normal(2, 3) > 0


def clip(x: Any, min: Any = None, max: Any = None) -> Any:
    return np.clip(x, min, max)


CASES = [
    Case("where", (C, normal(2, 3, seed=1), normal(3, seed=2)), ref=np.where),
    Case("where", (C[:, :1], normal(3, seed=1), normal(2, 1, seed=2)), ref=np.where),
    Case("where", (np.array(True), normal(2, 3, seed=1), normal(seed=2)), ref=np.where),
    Case("where", (C.T, normal(3, 2, seed=1), normal(2, 3, seed=2).T), ref=np.where),
    Case("where", (C[:0], normal(3, seed=1), normal(seed=2)), ref=np.where),
    Case("where", (np.array([0, 2]), np.array([1, 2]), np.array([3, 4])), ref=np.where),
    Case("where", (C[0], C[1], ~C[1]), ref=np.where),
    Case("clip", (normal(2, 3),), {"min": -0.3, "max": 0.2}, ref=clip),
    Case("clip", (normal(2, 3),), {"min": -0.3}, ref=clip),
    Case("clip", (normal(2, 3),), {"max": 0.2}, ref=clip),
    Case("clip", (normal(2, 3), normal(3, seed=1) - 1, normal(seed=2) + 1), ref=clip),
    Case("clip", (np.array([-5, 3, 9]),), {"min": -1, "max": 4}, ref=clip),
]
