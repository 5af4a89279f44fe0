"""Every function of the registry has a row, consistent parameters and a stub."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from dataclasses import replace

import ferrograd as fg
import pytest
from ferrograd import _core

from tests import check
from tests.cases import all_cases

REGISTRY = _core.registry()
ROWS = {row.op.split(".")[-1] for row in all_cases()}
DIFFERENTIATED = {row.op for row in all_cases() if check.differentiated(row)}
#: Parameter names of other libraries, which native functions accept as synonyms but do not use.
FOREIGN = {"input", "other", "dim", "dims", "keepdim", "size", "perm"}


@pytest.mark.parametrize("names", [names for names, _, _ in REGISTRY], ids=lambda n: n[0])
def test_every_function_has_a_row(names: list[str]) -> None:
    assert ROWS & {n.split(".")[-1] for n in names}, f"{names[0]} has no row in tests/cases"


def test_every_row_has_a_function() -> None:
    known = {n.split(".")[-1] for names, _, _ in REGISTRY for n in names}
    assert known >= ROWS


@pytest.mark.parametrize("op", sorted({row.op for row in all_cases()} - DIFFERENTIATED))
def test_a_function_whose_rows_are_not_differentiated_has_no_gradient(op: str) -> None:
    for row in all_cases():
        asked = replace(row, order=1, wrt=None)
        if row.op == op and check.differentiated(asked):
            found = check.function(op)(*row.lead, *row.prepare(*check.tensors(asked, track=True)), **row.kw)
            assert not [x for x in check.flat(found) if isinstance(x, fg.Tensor) and x.requires_grad]


def test_derivatives_are_checked_to_order_four() -> None:
    """There are no exceptions."""
    assert [row.id for row in all_cases() if row.order not in (0, 4)] == []


def test_names_are_unique() -> None:
    counts = Counter(n for names, _, _ in REGISTRY for n in names)
    assert [n for n, c in counts.items() if c > 1] == []


def test_parameters_are_named_alike() -> None:
    wrong = {}
    for names, params, _method in REGISTRY:
        kinds = {p: kind for p, kind, _, _ in params}
        own = [p for p in kinds if p in FOREIGN and not (p == "input" and "x" in kinds)]
        if params and kinds[params[0][0]] in ("Tensor", "Operand") and params[0][0] in ("a", "t", "tensor", "self"):
            own.append(params[0][0])
        if own:
            wrong[names[0]] = own
    assert not wrong


def test_required_parameters_come_first() -> None:
    for names, params, _method in REGISTRY:
        given = [default is None for _, _, _, default in params]
        assert given == sorted(given, reverse=True), names[0]


def test_the_stubs_are_up_to_date() -> None:
    # In a process of its own: what other tests define changes which functions ask their arguments.
    code = (
        "from tests.project import stubs\n"
        "print(*(page for page, text in stubs.pages().items() if (stubs.FOLDER / page).read_text() != text))"
    )
    stale = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not stale, "update them: python -m tests.project.stubs"
