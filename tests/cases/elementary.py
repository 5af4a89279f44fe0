"""Functions of one tensor, element by element."""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import special

from tests.cases import Case, normal, uniform

X = normal(3, 4)
HARD = np.array(
    [-np.inf, -1e300, -2.5, -1.0, -0.5, -1e-300, -0.0, 0.0, 1e-300, 0.5, 1.0, 1.5, 2.5, 1e300, np.inf, np.nan]
)


def real(name: str, ref: Callable[..., Any], low: float = -2.0, high: float = 2.0, order: int = 4) -> list[Case]:
    """Rows for a function of floats: random numbers of its domain, a 0-d input, and special values."""
    with np.errstate(all="ignore"):
        return [
            Case(name, (uniform(low, high, 3, 4),), ref=ref, order=order),
            Case(name, (uniform(low, high, seed=2),), ref=ref, order=order),
            Case(name, (HARD,), ref=quiet(ref), order=0),
            Case(name, (np.zeros((0, 3)),), ref=ref, order=0),
        ]


def quiet(ref: Callable[..., Any]) -> Callable[..., Any]:
    def silent(*args: Any, **kw: Any) -> Any:
        with np.errstate(all="ignore"):
            return ref(*args, **kw)

    return silent


INTS = np.array([[-3, 0], [2, 7]])

CASES = [
    Case("negative", (X,), ref=np.negative),
    Case("negative", (INTS,), ref=np.negative),
    Case("positive", (X,), ref=np.positive),
    Case("abs", (X,), ref=np.abs),
    Case("abs", (HARD,), ref=np.abs, order=0),
    Case("abs", (INTS,), ref=np.abs),
    Case("sign", (X,), ref=np.sign),
    Case("sign", (HARD,), ref=np.sign, order=0),
    Case("sign", (INTS,), ref=np.sign),
    Case("square", (X,), ref=np.square),
    Case("square", (INTS,), ref=np.square),
    *real("reciprocal", np.reciprocal, 0.5, 2),
    *real("exp", np.exp),
    *real("expm1", np.expm1),
    *real("log", np.log, 0.5, 2),
    *real("log1p", np.log1p, -0.5, 2),
    *real("log2", np.log2, 0.5, 2),
    *real("log10", np.log10, 0.5, 2),
    *real("sqrt", np.sqrt, 0.5, 2),
    *real("rsqrt", lambda x: 1 / np.sqrt(x), 0.5, 2),
    *real("entr", special.entr, 0.5, 2),
    *real("sin", np.sin),
    *real("cos", np.cos),
    *real("tan", np.tan, -1, 1),
    *real("asin", np.arcsin, -0.8, 0.8),
    *real("acos", np.arccos, -0.8, 0.8),
    *real("atan", np.arctan),
    *real("sinh", np.sinh),
    *real("cosh", np.cosh),
    *real("tanh", np.tanh),
    *real("asinh", np.arcsinh),
    *real("acosh", np.arccosh, 1.5, 3),
    *real("atanh", np.arctanh, -0.8, 0.8),
    *real("erf", special.erf),
    *real("exp2", np.exp2),
    *real("logit", special.logit, 0.1, 0.9),
    *real("deg2rad", np.deg2rad),
    *real("rad2deg", np.rad2deg),
    *real("floor", np.floor),
    *real("ceil", np.ceil),
    *real("trunc", np.trunc),
    *real("frac", lambda x: x - np.trunc(x)),
    *real("round", np.round),
    Case("round", (X + 1.7j,), ref=np.round),
    Case("round", (X,), {"decimals": 1}, ref=np.round, order=0),
    Case("round", (100 * X,), {"decimals": -1}, ref=np.round, order=0),
    Case("floor", (INTS,), ref=lambda x: x),
    Case("ceil", (INTS,), ref=lambda x: x),
    Case("trunc", (INTS,), ref=lambda x: x),
    Case("round", (INTS,), ref=lambda x: x),
    Case("isnan", (HARD,), ref=np.isnan, order=0),
    Case("isinf", (HARD,), ref=np.isinf, order=0),
    Case("isfinite", (HARD,), ref=np.isfinite, order=0),
    Case("isfinite", (INTS,), ref=np.isfinite),
    Case("bitwise_invert", (INTS,), ref=np.invert),
    Case("bitwise_invert", (np.array([True, False]),), ref=np.invert),
]
