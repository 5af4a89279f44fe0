"""Settings of all tests. A run that leaves threads which are not ferrograd's fails."""

from __future__ import annotations

import gc
import os
from contextlib import suppress

# The BLAS libraries of NumPy and SciPy start threads that cannot be told from others.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

from tests import old_numpy
from tests.waiting import until

# A busy machine makes no test fail.
settings.register_profile("no deadline", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("no deadline")


def threads() -> dict[str, str]:
    """The names of this process's threads except the main one, by number; empty where the system does not list them."""
    tasks = Path("/proc/self/task")
    if not tasks.exists():
        return {}
    names = {}
    for task in tasks.iterdir():
        with suppress(FileNotFoundError, ProcessLookupError):
            names[task.name] = (task / "comm").read_text().strip()
    return {task: name for task, name in names.items() if task != str(os.getpid())}


#: The threads that run already: those of a worker process of the tests.
BEFORE = threads()


def left() -> list[str]:
    """The names of the threads that the tests have started, that are not ferrograd's and that do not end."""

    def found() -> list[str]:
        return [name for i, name in threads().items() if i not in BEFORE and not name.startswith("ferrograd-")]

    # The system lists a thread for a moment after it was joined.
    return [] if until(lambda: not found()) else found()


#: The threads that this process or worker processes left.
LEFT: list[str] = []


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leaves out what NumPy 1.26 lacks, where that is the NumPy that is installed."""
    if np.lib.NumpyVersion(np.__version__) < "2.0.0":
        for item in items:
            if reason := old_numpy.difference(item.nodeid):
                item.add_marker(pytest.mark.skip(reason=reason))


def pytest_collection_finish() -> None:
    """Hides the objects of the thousands of tests from the garbage collector, which would visit them in every run."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Notes the threads that a worker process left."""
    LEFT.extend(getattr(node, "workeroutput", {}).get("threads", []))


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Fails the run if a thread is left that is not one of a pool."""
    if not session.config.getoption("numprocesses", None):
        LEFT.extend(left())
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["threads"] = LEFT
    elif LEFT:
        # With worker processes, this process runs no test.
        print(f"\nthreads left after the tests: {LEFT}")
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
