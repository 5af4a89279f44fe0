"""Gradients over several processes are those of one process, to the last bit."""

from __future__ import annotations

import pytest

from tests.distributed import exact
from tests.distributed.launch import needs_mpi, passed


@needs_mpi
def test_the_bits_do_not_depend_on_the_number_of_processes(capsys: pytest.CaptureFixture[str]) -> None:
    exact.main()
    alone = capsys.readouterr().out
    for n in (2, 3, 4):
        assert passed(n, "-m", "tests.distributed.exact") == alone
