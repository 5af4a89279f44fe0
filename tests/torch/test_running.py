"""``python -m ferrograd.torch``: programs and the processes that they start find the dialect as torch."""

from __future__ import annotations

import os
import subprocess
import sys
import venv
from pathlib import Path
from typing import Any

import ferrograd
import ferrograd.torch as torch
import pytest

SCRIPT = """
import importlib.metadata, importlib.util, multiprocessing, subprocess, sys

def shown(x):
    import torch
    return torch.__name__, float(torch.ones(2).sum() * x)

if __name__ == "__main__":
    print(importlib.util.find_spec("{name}") is not None, importlib.metadata.version("{package}"), sys.argv[1:])
    import {name}
    print({name}.__name__, importlib.metadata.version("{package}"))
    child = "import importlib.metadata as m, importlib.util as u; print(u.find_spec('{name}').origin[-11:], "
    child += "m.version('{package}'), end=' '); import {name}; print({name}.__name__, m.version('{package}'))"
    print(subprocess.run([sys.executable, "-c", child], capture_output=True, text=True, check=True).stdout.strip())
    if "{name}" == "torch":
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            print(pool.map(shown, [2]))
"""


def _run(*args: str, python: str = sys.executable, **options: Any) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join([str(Path(ferrograd.__file__).parents[1]), *filter(None, sys.path)])
    env = {**os.environ, "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run([python, *args], capture_output=True, text=True, env=env, **options)


@pytest.mark.parametrize(("name", "package"), [("torch", "torch"), ("paddle", "paddlepaddle")])
def test_a_script_and_its_processes(name: str, package: str, tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT.format(name=name, package=package))
    done = _run("-m", f"ferrograd.{name}", "--version", "2.4.1", str(script), "a", "--b")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0] == "True 2.4.1 ['a', '--b']"
    assert lines[1] == f"{name} 2.4.1"
    assert lines[2] == f"__init__.py 2.4.1 {name} 2.4.1"
    assert lines[3:] == (["[('torch', 4.0)]"] if name == "torch" else [])


def test_a_module_and_code(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text("import sys, torch; print(__name__, torch.__name__, sys.argv[1:])")
    done = _run("-m", "ferrograd.torch", "-m", "program", "x", cwd=tmp_path)
    assert done.stdout.strip() == "__main__ torch ['x']", done.stderr
    done = _run("-m", "ferrograd.torch", "-c", "import sys, torch; print(torch.__version__, sys.argv)", "y")
    assert done.stdout.strip() == f"{torch.__version__} ['-c', 'y']", done.stderr


def test_a_module_below_the_dialect() -> None:
    done = _run("-m", "ferrograd.torch", "-m", "torch.distributed.run", "--help")
    assert "nproc" in done.stdout, done.stderr


def test_usage() -> None:
    assert "usage" in _run("-m", "ferrograd.torch", "--help").stdout
    assert _run("-m", "ferrograd.torch").returncode == 2
    assert "no option --wrong" in _run("-m", "ferrograd.torch", "--wrong").stderr


def test_into_an_environment_and_out(tmp_path: Path) -> None:
    venv.create(tmp_path / "env", with_pip=False, symlinks=True)
    python = str(tmp_path / "env" / "bin" / "python")
    if os.name != "posix":
        python = str(tmp_path / "env" / "Scripts" / "python.exe")
    done = _run("-m", "ferrograd.torch", "--install", python=python)
    assert done.returncode == 0, done.stderr
    ask = "import importlib.metadata as m; print(m.version('torch'), m.packages_distributions()['functorch'])"
    ask += "; import functorch, torch; print(torch.__name__, functorch.vmap.__wrapped__ is torch.func.vmap)"
    done = _run("-c", ask, python=python)
    assert done.stdout.split() == [torch.__version__, "['torch']", "torch", "True"], done.stderr
    assert _run("-m", "ferrograd.torch", "--version", "2.0", "--install", python=python).returncode == 0
    assert _run("-c", ask, python=python).stdout.split()[0] == "2.0"
    assert _run("-m", "ferrograd.torch", "--uninstall", python=python).returncode == 0
    left = [p.name for p in (tmp_path / "env").rglob("*torch*")]
    assert left == []
    assert "no torch is installed" in _run("-m", "ferrograd.torch", "--uninstall", python=python).stderr


@pytest.mark.parametrize("marked", [True, False])
def test_the_real_library_stays(marked: bool, tmp_path: Path) -> None:
    venv.create(tmp_path / "env", with_pip=False, symlinks=True)
    python = str(tmp_path / "env" / ("bin" if os.name == "posix" else "Scripts") / "python")
    (packages,) = (tmp_path / "env").rglob("site-packages")
    (packages / "torch").mkdir()
    (packages / "torch" / "__init__.py").write_text("")
    if marked:
        (packages / "torch-9.9.dist-info").mkdir()
        (packages / "torch-9.9.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: torch\nVersion: 9.9\n")
    for option in ("--install", "--uninstall"):
        done = _run("-m", "ferrograd.torch", option, python=python)
        assert done.returncode == 1
        assert ("real torch 9.9" if marked else "torch") in done.stderr
    assert (packages / "torch" / "__init__.py").exists()
