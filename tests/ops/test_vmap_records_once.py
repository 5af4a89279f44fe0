"""Lanes are no loop: an op under ``vmap`` is recorded once, however many lanes there are."""

from __future__ import annotations

from typing import Any

import ferrograd as fg
import numpy as np
import pytest
from ferrograd import _core
from ferrograd.func import vmap

from tests import check
from tests.cases import Case, all_cases

ROWS = [c for c in all_cases() if check.differentiated(c) and not any(isinstance(a, list) for a in c.inputs)]


def recorded(case: Case, lanes: int) -> int:
    """How many nodes a call of the row's op makes with so many lanes of its differentiated inputs; with one, alone."""
    wrt = check.differentiated(case)
    made = 0

    def body(*xs: Any) -> Any:
        nonlocal made
        args = [fg.tensor(np.asarray(a)) for a in case.inputs]
        for i, x in zip(wrt, xs, strict=True):
            args[i] = x
        before = _core.live_nodes()
        outs = check.call(case, args)
        made = _core.live_nodes() - before
        return outs

    stacks = [fg.tensor(np.stack([np.asarray(case.inputs[i])] * lanes), requires_grad=True) for i in wrt]
    if lanes == 1:
        body(*(x[0] for x in stacks))
    else:
        vmap(body)(*stacks)
    return made


@pytest.mark.parametrize("case", ROWS, ids=lambda c: c.id)
def test_the_record_does_not_grow_with_the_lanes(case: Case) -> None:
    alone, few, many = (recorded(case, lanes) for lanes in (1, 2, 7))
    assert few == many
    assert (few > 0) == (alone > 0)
