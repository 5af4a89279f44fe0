"""Looks, when everything has run, whether the process has threads that are not ours."""

from __future__ import annotations

import os

# BLAS libraries of NumPy and SciPy start threads of their own, which nothing tells from others.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from pathlib import Path

import pytest


def threads() -> list[str]:
    """The names of this process's threads but for the main one, where the system lists them."""
    tasks = Path("/proc/self/task")
    if not tasks.exists():
        return []
    names = {task.name: (task / "comm").read_text().strip() for task in tasks.iterdir()}
    return sorted(name for task, name in names.items() if task != str(os.getpid()))


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Fails the run if a thread is left that is not one of a pool's."""
    strangers = [name for name in threads() if not name.startswith("ferrograd-")]
    if strangers:
        print(f"\nthreads left after the tests: {strangers}")
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
