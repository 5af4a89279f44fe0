"""The number of threads that the environment asks for."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest


def imported(**variables: str) -> subprocess.CompletedProcess[str]:
    """A process that imports the library with these variables, and prints the number of threads."""
    others = {k: v for k, v in os.environ.items() if k not in ("OMP_NUM_THREADS", "FERROGRAD_NUM_THREADS")}
    program = "import ferrograd as fg; print(fg.get_num_threads())"
    return subprocess.run(
        [sys.executable, "-c", program], env={**others, **variables}, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize(
    ("variables", "number"),
    [
        ({"FERROGRAD_NUM_THREADS": "3"}, 3),
        ({"OMP_NUM_THREADS": "5"}, 5),
        ({"OMP_NUM_THREADS": "5,2"}, 5),
        ({"OMP_NUM_THREADS": "5", "FERROGRAD_NUM_THREADS": " 3 "}, 3),
        ({"OMP_NUM_THREADS": "5", "FERROGRAD_NUM_THREADS": ""}, 5),
    ],
)
def test_the_environment_sets_the_number(variables: dict[str, str], number: int) -> None:
    assert imported(**variables).stdout == f"{number}\n"


@pytest.mark.parametrize("name", ["FERROGRAD_NUM_THREADS", "OMP_NUM_THREADS"])
@pytest.mark.parametrize("text", ["four", "0", "-1", "2.5"])
def test_a_wrong_value_is_an_error_at_import(name: str, text: str) -> None:
    found = imported(**{name: text})
    assert found.returncode == 1
    assert f"{name} is '{text}': a positive number of threads is wanted, such as {name}=4" in found.stderr
