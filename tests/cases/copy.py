"""Copies: the same values in new memory."""

import numpy as np

from tests.cases import Case, normal

CASES = [
    Case("clone", (normal(2, 3),), ref=np.copy),
    Case("clone", (normal(3, 2).T,), ref=np.copy),
]
