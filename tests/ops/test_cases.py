"""Every row of the table of cases: values, derivatives in both modes, and ``vmap``."""

import pytest

from tests import check
from tests.cases import Case, all_cases

ROWS = all_cases()


@pytest.mark.parametrize("case", ROWS, ids=lambda c: c.id)
def test_value(case: Case) -> None:
    check.value(case)


@pytest.mark.parametrize("case", [c for c in ROWS if check.differentiated(c)], ids=lambda c: c.id)
def test_gradients(case: Case) -> None:
    check.gradients(case)


@pytest.mark.parametrize("case", [c for c in ROWS if check.differentiated(c)], ids=lambda c: c.id)
def test_forward(case: Case) -> None:
    check.forward(case)


@pytest.mark.parametrize("case", [c for c in ROWS if check.differentiated(c)], ids=lambda c: c.id)
def test_modes(case: Case) -> None:
    check.modes(case)


@pytest.mark.parametrize("case", [c for c in ROWS if c.inputs and (c.ref or c.order)], ids=lambda c: c.id)
def test_batched(case: Case) -> None:
    check.batched(case)
