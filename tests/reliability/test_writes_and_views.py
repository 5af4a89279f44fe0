"""Random programs of views and writes give the values, gradients and second derivatives of a model.

``make fuzz`` runs more of them from a random seed, which it prints.
"""

from __future__ import annotations

import pytest

from tests.reliability.writes import run


@pytest.mark.parametrize("block", range(10))
def test_programs(block: int) -> None:
    for seed in range(block * 300, (block + 1) * 300):
        run(seed)
