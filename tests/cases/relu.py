"""Piecewise linear activations and their smooth variants."""

from typing import Any

import numpy as np
from scipy import special

from tests.cases import Case, normal

X = normal(3, 4) * 2
FAR = np.array([-1000.0, -800, -40, -20, -1, -0.25, 0, 0.25, 1, 20, 40, 800, 1000, np.nan])


def elu(x: Any, alpha: float = 1.0) -> Any:
    return np.where(x > 0, x, alpha * np.expm1(np.minimum(x, 0)))


def celu(x: Any, alpha: float = 1.0) -> Any:
    return np.where(x > 0, x, alpha * np.expm1(np.minimum(x / alpha, 0)))


def selu(x: Any, scale: float = 1.0507009873554805, alpha: float = 1.6732632423543772) -> Any:
    return scale * elu(x, alpha)


def hardtanh(x: Any, min: float = -1.0, max: float = 1.0) -> Any:
    return np.clip(x, min, max)


def relu6(x: Any) -> Any:
    return np.clip(x, 0, 6)


def hardsigmoid(x: Any, slope: float = 1 / 6, offset: float = 0.5) -> Any:
    return np.clip(x * slope + offset, 0, 1)


def hardswish(x: Any) -> Any:
    return x * relu6(x + 3) / 6


def mish(x: Any) -> Any:
    with np.errstate(invalid="ignore"):
        return x * np.tanh(np.logaddexp(0, x))


def log_sigmoid(x: Any) -> Any:
    with np.errstate(invalid="ignore"):
        return -np.logaddexp(0, -x)


def softsign(x: Any) -> Any:
    return x / (1 + np.abs(x))


def tanhshrink(x: Any) -> Any:
    return x - np.tanh(x)


def softshrink(x: Any, threshold: float = 0.5) -> Any:
    return np.sign(x) * np.maximum(np.abs(x) - threshold, 0)


def hardshrink(x: Any, threshold: float = 0.5) -> Any:
    return np.where(np.abs(x) <= threshold, 0, x)


def thresholded_relu(x: Any, threshold: float = 1.0, value: float = 0.0) -> Any:
    return np.where(x <= threshold, value, x)


def glu(x: Any, axis: int = -1) -> Any:
    a, b = np.split(x, 2, axis)
    return a * special.expit(b)


ALL: list[Any] = [
    *(elu, celu, selu, hardtanh, relu6, hardsigmoid, hardswish, mish, log_sigmoid, softsign, tanhshrink),
    *(softshrink, hardshrink, thresholded_relu),
]
CASES = [
    *(Case(f.__name__, (X,), ref=f) for f in ALL),
    *(Case(f.__name__, (FAR,), ref=f, order=0) for f in ALL),
    Case("elu", (X,), {"alpha": 0.5}, ref=elu),
    Case("celu", (X,), {"alpha": 2.0}, ref=celu),
    Case("selu", (X,), {"scale": 1.5, "alpha": 2.0}, ref=selu),
    Case("hardtanh", (X,), {"min": -0.5, "max": 3.0}, ref=hardtanh),
    Case("hardsigmoid", (X,), {"slope": 0.2, "offset": 0.4}, ref=hardsigmoid),
    Case("softshrink", (X,), {"threshold": 1.5}, ref=softshrink),
    Case("hardshrink", (X,), {"threshold": 1.5}, ref=hardshrink),
    Case("thresholded_relu", (X,), {"threshold": -0.5, "value": 7.0}, ref=thresholded_relu),
    Case("elu", (np.array([-1, 0, 2]),), ref=lambda x: elu(x).astype(np.float32), rtol=1e-6),
    Case("glu", (X,), ref=glu),
    Case("glu", (normal(4, 3),), {"axis": 0}, ref=glu),
]
