"""Functions of samples: interpolation, phases, convolutions of vectors, histograms."""

from typing import Any

import numpy as np

from tests.cases import Case, normal, uniform

WHOLE, SHORT = np.array([3, 250, 0, 7, 5]), np.array([2, -1, 4])
XP, FP = np.array([-1.0, 0.0, 0.5, 2.0]), normal(4, seed=3)


def counts(
    x: Any, bins: Any = 10, low: Any = None, high: Any = None, weights: Any = None, density: bool = False
) -> Any:
    return np.histogram(x, bins, None if low is None else (low, high), density or None, weights)


CASES = [
    Case("interp", (uniform(-1, 2, 3, 2), XP, FP), ref=np.interp),
    Case("interp", (np.array([-3.0, -1.0, 0.5, 2.0, 2.5, np.nan]), XP, FP), ref=np.interp, order=0),
    Case("interp", (np.array([-3.0, 2.5]), XP, FP), {"left": 7.0, "right": -7.0}, ref=np.interp, order=0),
    Case("unwrap", (uniform(-9, 9, 3, 4),), ref=np.unwrap),
    Case("unwrap", (uniform(-9, 9, 3, 4),), {"axis": 0, "period": 4.0}, ref=np.unwrap),
    Case("unwrap", (uniform(-9, 9, 5),), {"discont": 5.0}, ref=np.unwrap),
    Case("unwrap", (np.array([0.0, 3.0, 0.0, -3.0, 0.0]),), {"period": 6.0}, ref=np.unwrap, order=0),
    *[
        Case("convolve", (normal(5), normal(3, seed=1)), {"mode": m}, ref=np.convolve)
        for m in ("full", "same", "valid")
    ],
    Case("convolve", (normal(2), normal(4, seed=1)), ref=np.convolve),
    *[Case("correlate", (normal(5), normal(3, seed=1)), {"mode": m}, ref=np.correlate) for m in ("full", "same")],
    Case("correlate", (normal(5), normal(2, seed=1)), ref=np.correlate),
    *[
        Case(name, pair, {"mode": m}, ref=getattr(np, name), order=0)
        for name in ("convolve", "correlate")
        for pair in ((WHOLE, SHORT), (WHOLE.astype("uint8"), SHORT.astype("int8")), (WHOLE > 3, SHORT > 0))
        for m in ("full", "same", "valid")
    ],
    Case("convolve", (SHORT, WHOLE), ref=np.convolve, order=0),
    Case("convolve", (np.array([2**53 + 1, 1]), np.array([1])), ref=np.convolve, order=0),
    *[Case("correlate", (WHOLE * (1 + 0.5j), SHORT - 2j), {"mode": m}, ref=np.correlate) for m in ("full", "same")],
    Case("correlate", (SHORT - 2j, WHOLE * (1 + 0.5j)), {"mode": "full"}, ref=np.correlate),
    Case("convolve", (WHOLE * (1 + 0.5j), SHORT - 2j), ref=np.convolve),
    Case("histogram", (normal(3, 7),), ref=counts, order=0),
    Case("histogram", (normal(9),), {"bins": 3, "low": -1.0, "high": 1.0}, ref=counts, order=0),
    Case("histogram", (normal(9), np.array([-2.0, 0.0, 0.5, 2.0])), ref=counts, order=0),
    Case("histogram", (normal(9),), {"bins": 3, "density": True}, ref=counts, order=0),
    Case("histogram", (np.array([2.0, 2.0]),), {"bins": 2}, ref=counts, order=0),
]
