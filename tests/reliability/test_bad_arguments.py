"""Wrong arguments to every function: it returns or raises one of the promised exceptions, and never crashes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from ferrograd import _core

from tests.reliability.bad_calls import functions
from tests.waiting import LONG

ROOT = Path(__file__).parents[2]

#: How many processes share the functions.
PARTS = 2

#: A parameter gets one of so many wrong values, and in the long run all.
SHARES = [24, pytest.param(1, marks=pytest.mark.long)]


def check_calls(worker: str, share: int, names: list[str], folder: Path) -> None:
    """Runs a worker process, and fails with the problems it prints or with the call that crashed it."""
    box = folder / "call"
    box.touch()
    command = [sys.executable, "-W", "error", "-m", f"tests.reliability.{worker}", str(box), str(share), *names]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])}
    try:
        done = subprocess.run(
            command, cwd=folder, env=environment, capture_output=True, text=True, timeout=LONG, check=False
        )
    except subprocess.TimeoutExpired:
        pytest.fail(f"hangs: {box.read_text().strip()}")
    problems = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    alike: dict[tuple[str, str], list[str]] = {}
    for p in problems:
        alike.setdefault((p["call"].partition("(")[0], p["what"]), []).append(p["call"])
    report = "\n".join(f"{calls[0]} and {len(calls) - 1} more\n    {k[1]}" for k, calls in list(alike.items())[:60])
    if done.returncode:
        pytest.fail(f"died with {done.returncode} in {box.read_text().strip()}\n{done.stderr[-2000:]}\n{report}")
    assert not problems, f"{len(problems)} calls:\n{report}"


@pytest.mark.parametrize("share", SHARES)
@pytest.mark.parametrize("part", range(PARTS))
def test_wrong_arguments(part: int, share: int, tmp_path: Path) -> None:
    check_calls("bad_arguments", share, [names[0] for names, _, _ in _core.registry()][part::PARTS], tmp_path)


@pytest.mark.parametrize("share", SHARES)
@pytest.mark.parametrize("part", range(PARTS))
def test_wrong_calls(part: int, share: int, tmp_path: Path) -> None:
    check_calls("bad_calls", share, list(functions())[part::PARTS], tmp_path)
