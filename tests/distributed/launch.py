"""Runs a module of the tests in several processes."""

from __future__ import annotations

import importlib.util
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from subprocess import PIPE, CompletedProcess

import pytest

from tests.waiting import LONG

ROOT = Path(__file__).parents[2]
_PATH = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
MPIEXEC = shutil.which("mpiexec", path=_PATH)
needs_mpi = pytest.mark.skipif(
    MPIEXEC is None or importlib.util.find_spec("mpi4py") is None, reason="needs mpiexec and mpi4py, to start processes"
)
SETTINGS = {
    "FERROGRAD_DISTRIBUTED_DEBUG": "1",
    "FERROGRAD_DISTRIBUTED_TIMEOUT": str(LONG),
    "FERROGRAD_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_mpi_yield_when_idle": "1",
    "PRTE_ALLOW_RUN_AS_ROOT": "1",
    "PRTE_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
}


def launch(n: int, *command: str, **settings: str) -> CompletedProcess[str]:
    """The output of ``python -W error command`` in ``n`` processes."""
    assert MPIEXEC is not None, "the test has the mark needs_mpi"
    options = ["--oversubscribe", "--bind-to", "none"]
    full = [MPIEXEC, "-n", str(n), *options, sys.executable, "-W", "error", *command]
    environment = {**os.environ, **SETTINGS, **settings, "PATH": _PATH}
    started = subprocess.Popen(
        full, cwd=ROOT, env=environment, text=True, stdout=PIPE, stderr=PIPE, start_new_session=True
    )
    try:
        out, err = started.communicate(timeout=LONG)
    except subprocess.TimeoutExpired:
        os.killpg(started.pid, signal.SIGKILL)
        out, err = started.communicate()
        pytest.fail(f"{command} in {n} processes took longer than {LONG} s:\n{out[-2000:]}{err[-4000:]}")
    return CompletedProcess(full, started.returncode, out, err)


def passed(n: int, *command: str, **settings: str) -> str:
    """What processes print that all succeed."""
    done = launch(n, *command, **settings)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    return done.stdout
