"""Comparisons, logic and bits."""

import numpy as np

from tests.cases import Case
from tests.cases.arithmetic import GRID, I, J

BOOLS = (np.array([[True], [False]]), np.array([True, False]))
SHIFTS = (np.array([[-7, 7, 5], [0, 3, -2]]), np.array([0, 3, 70]))


def plain(name, ref, *inputs):
    return [Case(name, pair, ref=ref, order=0) for pair in inputs]


CASES = [
    *plain("equal", np.equal, GRID, (I, J), BOOLS),
    *plain("not_equal", np.not_equal, GRID, (I, J), BOOLS),
    *plain("less", np.less, GRID, (I, J), BOOLS),
    *plain("less_equal", np.less_equal, GRID, (I, J), BOOLS),
    *plain("greater", np.greater, GRID, (I, J), BOOLS),
    *plain("greater_equal", np.greater_equal, GRID, (I, J), BOOLS),
    *plain("logical_and", np.logical_and, GRID, (I, J), BOOLS),
    *plain("logical_or", np.logical_or, GRID, (I, J), BOOLS),
    *plain("logical_xor", np.logical_xor, GRID, (I, J), BOOLS),
    *plain("bitwise_and", np.bitwise_and, (I, J), BOOLS),
    *plain("bitwise_or", np.bitwise_or, (I, J), BOOLS),
    *plain("bitwise_xor", np.bitwise_xor, (I, J), BOOLS),
    *plain("bitwise_left_shift", np.left_shift, SHIFTS),
    *plain("bitwise_right_shift", np.right_shift, SHIFTS),
    Case("logical_not", (GRID[1],), ref=np.logical_not, order=0),
    Case("logical_not", (I,), ref=np.logical_not),
    Case("isclose", GRID, ref=np.isclose, order=0),
    Case("isclose", GRID, {"equal_nan": True}, ref=np.isclose, order=0),
    Case("isclose", (np.array([1.0, 1e-9]), np.array([1 + 1e-6, 2e-9])), {"rtol": 1e-7}, ref=np.isclose, order=0),
    Case("allclose", (np.ones(3), np.ones(1)), ref=np.allclose, order=0),
    Case("allclose", (np.ones(3), np.zeros(1)), ref=np.allclose, order=0),
]
