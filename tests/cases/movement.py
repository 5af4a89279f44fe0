"""Elements moved, repeated or given another type."""

import numpy as np

from tests.cases import Case, normal

CASES = [
    Case("cast", (normal(2, 3),), {"dtype": "float64"}, ref=lambda x, dtype: x.astype(dtype)),
    Case("reshape", (normal(2, 6),), {"shape": (3, -1)}, ref=lambda x, shape: np.reshape(x, shape)),
    Case("permute_dims", (normal(2, 3, 4),), {"axes": (2, 0, 1)}, ref=lambda x, axes: np.transpose(x, axes)),
    Case("matrix_transpose", (normal(2, 3, 4),), ref=lambda x: np.swapaxes(x, -1, -2)),
]
