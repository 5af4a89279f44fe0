"""``python -m ferrograd``: what it shows, its self-test, and the demo."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import ferrograd as fg
import pytest
from ferrograd._native import about


def started(*arguments: str, code: str = "", threads: int = 1) -> subprocess.CompletedProcess[str]:
    """A process that runs the package, after some code if there is any."""
    command = [sys.executable, "-m", "ferrograd", *arguments]
    if code:
        start = f"{code}; import runpy; runpy.run_module('ferrograd', run_name='__main__', alter_sys=True)"
        command = [sys.executable, "-c", start, *arguments]
    environment = {**os.environ, "FERROGRAD_NUM_THREADS": str(threads)}
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment)


def test_it_shows_what_a_report_needs_and_tests_itself() -> None:
    done = started(threads=3)
    assert done.returncode == 0, done.stdout + done.stderr
    shown = dict(line.split(maxsplit=1) for line in done.stdout.splitlines())
    assert shown["ferrograd"].startswith(fg.__version__)
    assert shown["vectors"] in ("AVX-512", "AVX2", "SSE2", "NEON", "none")
    assert int(shown["threads"].split(",")[0]) == 3
    assert f"{len(about.CHECKS)} of {len(about.CHECKS)} checks passed" in shown["self-test"]


def test_it_names_the_vectors_that_the_environment_allows() -> None:
    environment = {**os.environ, "FERROGRAD_CPU": "baseline"}
    command = [sys.executable, "-c", "from ferrograd._native import about; print(about.about())"]
    shown = subprocess.run(command, capture_output=True, text=True, check=True, env=environment).stdout
    assert "FERROGRAD_CPU=baseline" in shown
    assert not {"AVX-512", "AVX2"} & set(shown.split())


def test_a_check_that_fails_is_named(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def wrong() -> bool:
        """What is wrong:"""
        return False

    def broken() -> bool:
        """What raises:"""
        raise fg.ShapeError("no such shape")

    monkeypatch.setattr(about, "CHECKS", [about.CHECKS[0], wrong, broken])
    assert not about.self_test()
    out = capsys.readouterr().out
    assert "1 of 3 checks passed" in out
    assert "What is wrong: a wrong result" in out
    assert "What raises: ShapeError: no such shape" in out


@pytest.mark.parametrize(("arguments", "status"), [(["--help"], 0), (["nothing"], 2), (["demo", "a", "b"], 2)])
def test_it_says_how_it_is_called(arguments: list[str], status: int) -> None:
    done = started(*arguments)
    assert done.returncode == status
    assert "python -m ferrograd demo" in done.stdout


def test_the_demo_draws(tmp_path: Path) -> None:
    done = started("demo", str(tmp_path / "demo"))
    assert done.returncode == 0, done.stdout + done.stderr
    assert sorted(path.name for path in (tmp_path / "demo").iterdir()) == ["loss.png", "sin.png"]


def test_the_demo_says_what_it_needs(tmp_path: Path) -> None:
    done = started("demo", str(tmp_path), code="import sys; sys.modules['sklearn.datasets'] = None")
    assert done.returncode == 1
    assert done.stderr.strip().endswith("pip install matplotlib scikit-learn tqdm")
    assert not list(tmp_path.iterdir())
