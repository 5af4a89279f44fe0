"""Tensors made from nothing."""

import numpy as np

from tests.cases import Case

CASES = [
    Case("zeros", (), {"shape": (2, 3)}, ref=lambda shape: np.zeros(shape, np.float32), order=0),
    Case("ones", (), {"shape": (2, 3)}, ref=lambda shape: np.ones(shape, np.float32), order=0),
]
