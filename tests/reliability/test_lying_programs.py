"""Saved programs of which one value says what is not so: nothing but the program's own memory is read or written."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import warnings
from collections.abc import Callable
from typing import Any

import ferrograd as fg
import pytest
from ferrograd import func
from ferrograd._compile.loaded import LoadedFunction

from tests.cases import Case
from tests.check import differentiated
from tests.compile.test_closed_door import CASES, compute, copies, gradients, tensors
from tests.reliability import lying_programs
from tests.reliability.damaged_programs import HEADER
from tests.waiting import LONG


@pytest.mark.timeout(2 * LONG)
@pytest.mark.parametrize("n", [12, 64])
def test_no_memory_is_touched_on_the_word_of_a_file(n: int) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.reliability.lying_programs", "7", "400", str(n)], capture_output=True, text=True
    )
    assert done.returncode == 0, (done.returncode, done.stderr[-2000:])


def is_read(data: bytes) -> bool:
    try:
        LoadedFunction(data)
    except fg.FerrogradError:
        return False
    return True


@pytest.mark.parametrize("name", lying_programs.functions(8))
def test_a_result_that_its_op_does_not_make_is_refused_when_a_file_is_read(name: str) -> None:
    whole = dict(lying_programs.programs(8))[name]
    values = lying_programs.Reader(whole[HEADER.size :]).values()
    made = [k for k, value in enumerate(values) if value.origin == lying_programs.MADE]
    all_told = lying_programs.lies(name, whole)
    told = [(text, data) for text, data in all_told if data != whole and any(f"value {k} " in text for k in made)]
    assert len(told) > 10
    believed = [text for text, data in told if is_read(data)]
    assert believed == []


def hidden(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *inputs: func.vmap(function)(*([fg.stack([x, x]) for x in inputs]))


def believed(function: Callable[..., Any], inputs: list[Any]) -> list[str]:
    """The lies about results in the programs of a function that a reader believes."""
    compiled = fg.compile(copies(function))
    with warnings.catch_warnings(), contextlib.suppress(Exception):
        warnings.simplefilter("ignore")
        compiled(*inputs)
    texts = []
    for program in (program for made in compiled._programs.values() for program in made):
        with contextlib.suppress(fg.ArgumentError):
            whole = program.data("f")
            assert is_read(whole)
            values = lying_programs.Reader(whole[HEADER.size :]).values()
            # A number that decides how a function goes on is the first size of an array without elements.
            made = [
                k
                for k, value in enumerate(values)
                if value.origin == lying_programs.MADE and [size for _, size in value.sizes][-1:] != [0]
            ]
            # Some results of a long program stand for all.
            some = made[:: 1 + len(made) // 6]
            for text, data in lying_programs.lies("", whole, some):
                if data != whole and is_read(data):
                    texts.append(text)
    return texts


def one_by_op() -> list[Any]:
    """The first case of each op, and the others, which take minutes."""
    params, met = [], set()
    for name, case in CASES.items():
        params.append(pytest.param(case, id=name, marks=[pytest.mark.long] if case.op in met else []))
        met.add(case.op)
    return params


@pytest.mark.parametrize("case", one_by_op())
def test_every_op_says_what_it_makes(case: Case) -> None:
    function, inputs = compute(case), tensors(case.inputs)
    for of in [function, *([gradients(case)] if differentiated(case) else [])]:
        assert believed(of, inputs) == []
    if not any(isinstance(x, list) for x in inputs):
        assert believed(hidden(function), inputs) == []


def test_results_with_hidden_axes_are_among_those_that_are_lied_about() -> None:
    compiled = fg.compile(copies(hidden(fg.softmax)))
    compiled(fg.ones((3, 4)))
    assert compiled.cache_info().currsize == 1


def test_the_reader_finds_the_values_of_a_program() -> None:
    known = dict(lying_programs.programs(8))
    values = lying_programs.Reader(known["softmax"][HEADER.size :]).values()
    assert [value.origin for value in values] == [lying_programs.INPUT, lying_programs.MADE]
    assert [[n for _, n in value.sizes] for value in values] == [[8, 8], [8, 8]]
