"""Wrong arguments to every function: it returns or raises one of the promised exceptions, and never crashes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import cast

import pytest
from ferrograd import _core

from tests.reliability.bad_calls import modules

ENTRIES = [names[0] for names, _, _ in _core.registry()]
CHUNKS = [ENTRIES[i::12] for i in range(12)]
ROOT = Path(__file__).parents[2]


def run(worker: str, names: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    """Runs a worker process, which notes each call in the file ``folder / "call"``."""
    folder.mkdir()
    box = folder / "call"
    box.touch()
    command = [sys.executable, "-W", "error", "-m", f"tests.reliability.{worker}", str(box), *names]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])}
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=100, check=False
    )


Work = tuple[Path, Future[subprocess.CompletedProcess[str]]]


@pytest.fixture(scope="module")
def work(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Work]]:
    """The worker processes of all selected tests, as many at once as there are processors."""
    folder = tmp_path_factory.mktemp("calls")
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        started: dict[str, Work] = {}
        for i, item in enumerate(request.session.items):
            if isinstance(item, pytest.Function) and item.path == Path(__file__):
                worker, names = cast("tuple[str, list[str]]", item.callspec.params["work_of"])
                started[item.name] = (folder / str(i), pool.submit(run, worker, names, folder / str(i)))
        yield started
        pool.shutdown(cancel_futures=True)


def check_calls(folder: Path, running: Future[subprocess.CompletedProcess[str]]) -> None:
    """Waits for a worker process and fails with the problems it prints, or with the call that crashed it."""
    box = folder / "call"
    try:
        done = running.result()
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


def name_of(job: tuple[str, list[str]]) -> str:
    return job[1][0] if job[1] else "none"


@pytest.mark.parametrize("work_of", [("bad_arguments", chunk) for chunk in CHUNKS], ids=name_of)
def test_wrong_arguments(work_of: object, work: dict[str, Work], request: pytest.FixtureRequest) -> None:
    check_calls(*work[request.node.name])


@pytest.mark.parametrize("work_of", [("bad_calls", [module]) for module in modules()], ids=name_of)
def test_wrong_calls(work_of: object, work: dict[str, Work], request: pytest.FixtureRequest) -> None:
    check_calls(*work[request.node.name])
