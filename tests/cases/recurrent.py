"""Recurrent layers."""

from typing import Any

import numpy as np
from scipy import special

from tests.cases import Case, normal


def lstm(gates: Any, weight: Any, h: Any, c: Any) -> Any:
    outputs = []
    for x in gates:
        i, f, g, o = np.split(x + h @ weight.T, 4, -1)
        c = special.expit(f) * c + special.expit(i) * np.tanh(g)
        h = special.expit(o) * np.tanh(c)
        outputs.append(h)
    return np.stack(outputs), c


CASES = [
    Case(
        "lstm_layer",
        (
            normal(steps, rows, 4 * units),
            normal(4 * units, units, seed=1),
            normal(rows, units, seed=2),
            normal(rows, units, seed=3),
        ),
        ref=lstm,
    )
    for steps, rows, units in ((3, 2, 2), (1, 1, 3), (2, 0, 3))
]
