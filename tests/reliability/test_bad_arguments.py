"""Every function of the registry with wrong arguments: it returns or raises as promised, and Python survives."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from ferrograd import _core

ENTRIES = [names[0] for names, _, _ in _core.registry()]
CHUNKS = [ENTRIES[i::12] for i in range(12)]
ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("chunk", CHUNKS, ids=lambda c: c[0] if c else "none")
def test_wrong_arguments(chunk: list[str], tmp_path: Path) -> None:
    box = tmp_path / "call"
    box.touch()
    command = [sys.executable, "-W", "error", "-m", "tests.reliability.bad_arguments", str(box), *chunk]
    try:
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=100, check=False)
    except subprocess.TimeoutExpired:
        pytest.fail(f"hangs: {box.read_text().strip()}")
    problems = [json.loads(line) for line in done.stdout.splitlines()]
    report = "\n".join(f"{p['call']}\n    {p['what']}" for p in problems[:60])
    if done.returncode:
        pytest.fail(f"died with {done.returncode} in {box.read_text().strip()}\n{done.stderr[-2000:]}\n{report}")
    assert not problems, f"{len(problems)} calls:\n{report}"
