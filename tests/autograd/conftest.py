"""Checks of derivatives draw from NumPy's global stream. It begins anew for each test, so every run finds the same."""

from __future__ import annotations

import numpy as np
import pytest


@pytest.fixture(autouse=True)
def _same_numbers() -> None:
    np.random.seed(0)
