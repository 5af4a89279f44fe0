"""``vmap`` does not loop: an op is recorded once for a batch of any size."""

from __future__ import annotations

from typing import Any

import ferrograd as fg
import numpy as np
import pytest
from ferrograd import _core
from ferrograd.func import vmap

from tests import check
from tests.cases import Case, all_cases

# The size of this op's result depends on the values, so vmap refuses it.
REFUSED = {"unique_all"}
ROWS = [
    c
    for c in all_cases()
    if check.differentiated(c) and c.op not in REFUSED and not any(isinstance(a, list) for a in c.inputs)
]


def recorded(case: Case, batch_size: int) -> int:
    """The number of nodes that the row's op records under ``vmap`` with this batch size; 1 means without ``vmap``."""
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

    stacks = [fg.tensor(np.stack([np.asarray(case.inputs[i])] * batch_size), requires_grad=True) for i in wrt]
    if batch_size == 1:
        body(*(x[0] for x in stacks))
    else:
        vmap(body)(*stacks)
    return made


@pytest.mark.parametrize("case", ROWS, ids=lambda c: c.id)
def test_the_record_does_not_grow_with_the_batch(case: Case) -> None:
    alone, few, many = (recorded(case, n) for n in (1, 2, 7))
    assert few == many
    assert (few > 0) == (alone > 0)
