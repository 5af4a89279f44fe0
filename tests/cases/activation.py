"""Element-wise activations of neural networks."""

from typing import Any

import numpy as np
from scipy import special

from tests.cases import Case, normal

X = normal(3, 4)
FAR = np.array([-1000.0, -800, -40, -20, -1, 0, 1, 20, 40, 800, 1000, np.nan])


def softplus(x: Any, beta: float = 1.0, threshold: float = 20.0) -> Any:
    with np.errstate(invalid="ignore"):
        soft = np.logaddexp(0, beta * x) / beta
    return np.where(beta * x > threshold, x, soft) if threshold < 20 else soft


def gelu(x: Any, approximate: str = "none") -> Any:
    if approximate in ("tanh", True):
        return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))
    return x * special.ndtr(x)


def prelu(x: Any, weight: Any) -> Any:
    return np.where(x > 0, x, x * weight)


CASES = [
    Case("sigmoid", (X,), ref=special.expit),
    Case("sigmoid", (FAR,), ref=special.expit, order=0),
    Case("relu", (X,), ref=lambda x: np.maximum(x, 0)),
    Case("relu", (FAR,), ref=lambda x: np.maximum(x, 0), order=0),
    Case("relu", (np.array([-1, 2]),), ref=lambda x: np.maximum(x, 0)),
    Case("leaky_relu", (X,), ref=lambda x: np.where(x > 0, x, 0.01 * x)),
    Case(
        "leaky_relu",
        (X,),
        {"negative_slope": 1.5},
        ref=lambda x, negative_slope: np.where(x > 0, x, negative_slope * x),
    ),
    Case("prelu", (X, normal(seed=1)), ref=prelu),
    Case("prelu", (normal(2, 3, 4), normal(3, seed=1)), ref=lambda x, w: prelu(x, w[:, None])),
    Case("silu", (X,), ref=lambda x: x * special.expit(x)),
    Case("silu", (FAR,), ref=lambda x: x * special.expit(x), order=0),
    Case("softplus", (X,), ref=softplus),
    Case("softplus", (FAR,), ref=softplus, order=0),
    Case("softplus", (X,), {"beta": 2.0}, ref=softplus),
    Case("softplus", (X,), {"beta": 2.0, "threshold": 1.0}, ref=softplus),
    Case("gelu", (X,), ref=gelu),
    Case("gelu", (FAR,), ref=gelu, order=0),
    Case("gelu", (X,), {"approximate": "tanh"}, ref=gelu),
    Case("gelu", (X,), {"approximate": True}, ref=gelu),
    Case("gelu", (X,), {"approximate": False}, ref=gelu),
]
