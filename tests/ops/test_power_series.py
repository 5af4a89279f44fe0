"""Taylor series of every op against nested forward mode."""

from __future__ import annotations

from typing import Any

import ferrograd as fg
import numpy as np
import pytest
from ferrograd.func import jvp, taylor

from tests import check
from tests.cases import Case, all_cases

ROWS = [c for c in all_cases() if c.order >= 3 and check.differentiated(c)]


@pytest.mark.parametrize("case", ROWS, ids=lambda c: c.id)
def test_derivatives_along_a_direction(case: Case) -> None:
    wrt = check.differentiated(case)
    generator = np.random.default_rng(1)
    args = check.tensors(case)
    at = [args[i] for i in wrt]

    def direction(x: Any) -> Any:
        return [direction(part) for part in x] if isinstance(x, list) else fg.tensor(generator.normal(size=x.shape))

    along = [direction(x) for x in at]

    def f(at: Any) -> list[Any]:
        inside = list(args)
        for i, x in zip(wrt, at, strict=True):
            inside[i] = x
        return check.call(case, inside)

    def moved(f: Any) -> Any:
        return lambda at: jvp(f, (at,), (along,))[1]

    for order, got in enumerate(taylor(f, at, along, 3)):
        for a, b in zip(got, f(at), strict=True):
            a, b = np.asarray(a), np.asarray(b)
            assert a.shape == b.shape
            scale = np.abs(b[np.isfinite(b)]).max(initial=1.0)
            np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-7 * scale, err_msg=f"{case.id}: order {order}")
        f = moved(f)
