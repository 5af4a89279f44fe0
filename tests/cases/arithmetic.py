"""Functions of two tensors, element by element."""

import numpy as np

from tests.cases import Case, normal, uniform

CASES = [
    Case("add", (normal(2, 3), normal(3, seed=1)), ref=np.add),
    Case("subtract", (normal(2, 1), normal(1, 3, seed=1)), ref=np.subtract),
    Case("multiply", (normal(2, 3), normal(seed=1)), ref=np.multiply),
    Case("divide", (normal(2, 3), uniform(1, 2, 2, 1, seed=1)), ref=np.divide),
]
