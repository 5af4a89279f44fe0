"""Saved programs of which one value says what is not so: nothing but the program's own memory is read or written."""

from __future__ import annotations

import subprocess
import sys

import ferrograd as fg
import pytest
from ferrograd._compile.loaded import LoadedFunction

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


@pytest.mark.parametrize("name", ["softmax", "logsumexp", "sum", "add", "where", "matmul", "concat"])
def test_a_result_that_its_op_does_not_make_is_refused_when_a_file_is_read(name: str) -> None:
    whole = dict(lying_programs.programs(8))[name]
    values = lying_programs.Reader(whole[HEADER.size :]).values()
    made = [k for k, value in enumerate(values) if value.origin == lying_programs.MADE]
    all_told = lying_programs.lies(name, whole)
    told = [(text, data) for text, data in all_told if data != whole and any(f"value {k} " in text for k in made)]
    assert len(told) > 10
    believed = [text for text, data in told if is_read(data)]
    assert believed == []


def test_the_reader_finds_the_values_of_a_program() -> None:
    known = dict(lying_programs.programs(8))
    values = lying_programs.Reader(known["softmax"][HEADER.size :]).values()
    assert [value.origin for value in values] == [lying_programs.INPUT, lying_programs.MADE]
    assert [[n for _, n in value.sizes] for value in values] == [[8, 8], [8, 8]]
