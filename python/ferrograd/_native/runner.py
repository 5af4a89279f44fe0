"""``python -m ferrograd.torch …``: a program with the dialect in the place of its library, in all its processes."""

from __future__ import annotations

import os
import runpy
import sys
import tempfile
from pathlib import Path

from ferrograd._native import folder as standin, install_as as _install_as
from ferrograd._native.install_as import LIBRARIES, install_as

_USAGE = """usage: python -m ferrograd.{name} [--version V] script.py [arguments]
       python -m ferrograd.{name} [--version V] -m module [arguments]
       python -m ferrograd.{name} [--version V] -c code [arguments]
       python -m ferrograd.{name} [--version V] --install
       python -m ferrograd.{name} --uninstall

The first three run a program in which, as in all processes of Python that it starts, `import {name}` gives
ferrograd.{name}. --install makes this so for the whole environment of this interpreter; it refuses where the
real {name} is. --version says which version of {package} package managers and libraries are told."""


def main(name: str) -> None:
    """Runs what the command line says."""
    options = sys.argv[1:]
    if options[:1] == ["--version"] and len(options) > 1:
        _install_as.versions[name] = options[1]
        options = options[2:]
    if options in (["--install"], ["--uninstall"]):
        sys.exit(_change(name, options[0]))
    if not options or options[0] in ("-h", "--help") or (options[0] in ("-m", "-c") and len(options) == 1):
        print(_USAGE.format(name=name, package=LIBRARIES[name].package))
        sys.exit(0 if options else 2)
    if options[0].startswith("-") and options[0] not in ("-m", "-c"):
        sys.exit(f"python -m ferrograd.{name}: there is no option {options[0]}; --help shows them")
    with tempfile.TemporaryDirectory(prefix=f"ferrograd-{name}-", ignore_cleanup_errors=True) as folder:
        _prepare(name, Path(folder))
        _run(options)


def _change(name: str, option: str) -> int:
    """Installs or uninstalls the stand-in; returns the exit status."""
    try:
        print((standin.install if option == "--install" else standin.uninstall)(name))
    except ImportError as e:
        print(e, file=sys.stderr)
        return 1
    return 0


def _prepare(name: str, folder: Path) -> None:
    """Puts the dialect in place in this process, and in those that it starts."""
    standin.write(name, folder)
    sys.path.insert(1, str(folder))
    paths = [str(folder), os.environ.get("PYTHONPATH", "")]
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, paths))
    install_as(name)  # type: ignore[arg-type]


def _run(options: list[str]) -> None:
    """Runs a script, a module (``-m``) or code (``-c``) as the main program, with the arguments that follow."""
    if options[0] == "-m":
        sys.argv = options[1:]
        runpy.run_module(options[1], run_name="__main__", alter_sys=True)
    elif options[0] == "-c":
        sys.argv = ["-c", *options[2:]]
        main = sys.modules["__main__"]
        exec(compile(options[1], "<string>", "exec"), vars(main))
    else:
        sys.argv = options
        sys.path[0] = os.path.dirname(os.path.abspath(options[0]))
        runpy.run_path(options[0], run_name="__main__")
