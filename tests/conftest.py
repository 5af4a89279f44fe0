"""Settings of all tests. A run that leaves threads which are not ferrograd's fails."""

from __future__ import annotations

import os

# The BLAS libraries of NumPy and SciPy start threads that cannot be told from others.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from pathlib import Path

import pytest
from hypothesis import settings

# A busy machine makes no test fail.
settings.register_profile("no deadline", deadline=None)
settings.load_profile("no deadline")


def threads() -> list[str]:
    """The names of this process's threads except the main one; empty where the system does not list them."""
    tasks = Path("/proc/self/task")
    if not tasks.exists():
        return []
    names = {task.name: (task / "comm").read_text().strip() for task in tasks.iterdir()}
    return sorted(name for task, name in names.items() if task != str(os.getpid()))


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Fails the run if a thread is left that is not one of a pool."""
    strangers = [name for name in threads() if not name.startswith("ferrograd-")]
    if strangers:
        print(f"\nthreads left after the tests: {strangers}")
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
