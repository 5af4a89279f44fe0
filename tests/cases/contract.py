"""Products summed over shared axes."""

import numpy as np

from tests.cases import Case, normal

CASES = [
    Case("matmul", (normal(2, 3), normal(3, 4, seed=1)), ref=np.matmul),
    Case("matmul", (normal(3), normal(3, seed=1)), ref=np.matmul),
    Case("matmul", (normal(5, 2, 3), normal(3, seed=1)), ref=np.matmul),
    Case("matmul", (normal(3), normal(5, 3, 2, seed=1)), ref=np.matmul),
    Case("matmul", (normal(5, 1, 2, 3), normal(4, 3, 2, seed=1)), ref=np.matmul),
]
