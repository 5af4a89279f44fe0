"""Axes folded into one number."""

import numpy as np

from tests.cases import Case, normal

CASES = [
    Case("sum", (normal(2, 3, 4),), ref=np.sum),
    Case("sum", (normal(2, 3, 4),), {"axis": 1}, ref=np.sum),
    Case("sum", (normal(2, 3, 4),), {"axis": (0, -1), "keepdims": True}, ref=np.sum),
]
