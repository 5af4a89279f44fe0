"""Saved programs of which one value says what is not so: nothing but the program's own memory is read or written."""

from __future__ import annotations

import subprocess
import sys

import pytest

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


def test_the_reader_finds_the_values_of_a_program() -> None:
    known = dict(lying_programs.programs(8))
    values = lying_programs.Reader(known["softmax"][HEADER.size :]).values()
    assert [value.origin for value in values] == [lying_programs.INPUT, lying_programs.MADE]
    assert [[n for _, n in value.sizes] for value in values] == [[8, 8], [8, 8]]
