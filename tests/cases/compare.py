"""Comparisons, logic and bits."""

from collections.abc import Callable
from typing import Any

import numpy as np

from tests.cases import Case
from tests.cases.arithmetic import GRID, OTHER, WHOLE

BOOLS = (np.array([[True], [False]]), np.array([True, False]))
SHIFTS = (np.array([[-7, 7, 5], [0, 3, -2]]), np.array([0, 3, 70]))


def plain(name: str, ref: Callable[..., Any], *inputs: Any) -> list[Case]:
    return [Case(name, pair, ref=ref, order=0) for pair in inputs]


CASES = [
    *plain("equal", np.equal, GRID, (WHOLE, OTHER), BOOLS),
    *plain("not_equal", np.not_equal, GRID, (WHOLE, OTHER), BOOLS),
    *plain("less", np.less, GRID, (WHOLE, OTHER), BOOLS),
    *plain("less_equal", np.less_equal, GRID, (WHOLE, OTHER), BOOLS),
    *plain("greater", np.greater, GRID, (WHOLE, OTHER), BOOLS),
    *plain("greater_equal", np.greater_equal, GRID, (WHOLE, OTHER), BOOLS),
    *plain("logical_and", np.logical_and, GRID, (WHOLE, OTHER), BOOLS),
    *plain("logical_or", np.logical_or, GRID, (WHOLE, OTHER), BOOLS),
    *plain("logical_xor", np.logical_xor, GRID, (WHOLE, OTHER), BOOLS),
    *plain("bitwise_and", np.bitwise_and, (WHOLE, OTHER), BOOLS),
    *plain("bitwise_or", np.bitwise_or, (WHOLE, OTHER), BOOLS),
    *plain("bitwise_xor", np.bitwise_xor, (WHOLE, OTHER), BOOLS),
    *plain("bitwise_left_shift", np.left_shift, SHIFTS),
    *plain("bitwise_right_shift", np.right_shift, SHIFTS),
    Case("logical_not", (GRID[1],), ref=np.logical_not, order=0),
    Case("logical_not", (WHOLE,), ref=np.logical_not),
    Case("isclose", GRID, ref=np.isclose, order=0),
    Case("isclose", GRID, {"equal_nan": True}, ref=np.isclose, order=0),
    Case("isclose", (np.array([1.0, 1e-9]), np.array([1 + 1e-6, 2e-9])), {"rtol": 1e-7}, ref=np.isclose, order=0),
    Case("signbit", (np.array([-0.0, 0.0, 1.0, -np.inf, np.copysign(np.nan, -1), np.nan]),), ref=np.signbit, order=0),
    Case("signbit", (WHOLE,), ref=np.signbit),
    Case("allclose", (np.ones(3), np.ones(1)), ref=np.allclose, order=0),
    Case("allclose", (np.ones(3), np.zeros(1)), ref=np.allclose, order=0),
]
