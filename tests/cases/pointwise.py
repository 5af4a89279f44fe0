"""Functions of one tensor, element by element."""

import numpy as np

from tests.cases import Case, normal

CASES = [
    Case("negative", (normal(3, 4),), ref=np.negative),
    Case("sin", (normal(3, 4),), ref=np.sin),
    Case("cos", (normal(3, 4),), ref=np.cos),
    Case("exp", (normal(3, 4),), ref=np.exp),
]
