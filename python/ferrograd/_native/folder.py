"""A folder that stands in for a library: a package of a few lines, and the files that tell package managers of it.

A process that has the folder on its path finds the dialect under the name of the library, however it looks for it.
"""

from __future__ import annotations

import importlib
import os
import shutil
import sys
import sysconfig
from pathlib import Path
from typing import Any

from ferrograd._native import install_as as _install_as
from ferrograd._native.install_as import LIBRARIES, install_as, package_files, version_of

_PACKAGE = '''"""ferrograd.{name} in the place of {name}: see the documentation of ferrograd, "Libraries that run"."""

from ferrograd._native.folder import become

become({name!r}, __name__, {version!r})
'''
_SCRIPT = """#!{python}
import sys

from {module} import {function}

sys.exit({function}())
"""


def become(name: str, module: str, version: str) -> None:
    """Puts the dialect in the place of a library, and of the package ``module`` that is being imported."""
    sys.modules.pop(module)
    _install_as.versions[name] = version
    install_as(name)  # type: ignore[arg-type]
    importlib.import_module(module)


def write(name: str, folder: Path) -> list[Path]:
    """Writes the package of a library and what tells of it into a folder; returns the paths of the files."""
    texts = package_files(name)
    info = folder / f"{LIBRARIES[name].package}-{version_of(name)}.dist-info"
    files = {info / file: text for file, text in texts.items() if text}
    for top in texts["top_level.txt"].split():
        files[folder / top / "__init__.py"] = _PACKAGE.format(name=name, version=version_of(name))
    for path, text in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    record = info / "RECORD"
    _record(record, folder, [*files, record])
    return [*files, record]


def _record(record: Path, folder: Path, files: list[Path]) -> None:
    """Writes the list of the files of a package, by which package managers remove it."""
    record.write_text("".join(f"{os.path.relpath(file, folder)},,\n" for file in files), encoding="utf-8")


def install(name: str) -> str:
    """Puts the stand-in into the environment of this interpreter; returns what has been done.

    Raises:
        ImportError: the environment has the library itself.
    """
    found = _installed(name)
    folder = Path(sysconfig.get_path("purelib"))
    strange = [top for top in package_files(name)["top_level.txt"].split() if (folder / top).exists()]
    if found is None and strange:
        raise ImportError(f"--install: {folder / strange[0]} is there already; remove it first")
    if found is not None:
        _refuse_real(name, found)
        uninstall(name)
    files = write(name, folder)
    scripts = _write_scripts(name)
    record = files[-1]
    _record(record, folder, [*files, *scripts])
    return f"{name} is ferrograd.{name} now in {folder}; --uninstall takes it out"


def _write_scripts(name: str) -> list[Path]:
    """Writes the console scripts of a library, where a text file can be one."""
    if os.name != "posix":
        return []
    paths = []
    for script, place in LIBRARIES[name].scripts.items():
        module, function = place.split(":")
        path = Path(sysconfig.get_path("scripts")) / script
        path.write_text(_SCRIPT.format(python=sys.executable, module=module, function=function), encoding="utf-8")
        path.chmod(0o755)
        paths.append(path)
    return paths


def uninstall(name: str) -> str:
    """Takes the stand-in out of the environment; returns what has been done.

    Raises:
        ImportError: it is not there, or the environment has the library itself.
    """
    found = _installed(name)
    if found is None:
        raise ImportError(f"--uninstall: no {LIBRARIES[name].package} is installed here")
    _refuse_real(name, found)
    folders = set()
    for file in found.files:
        path = Path(os.path.abspath(found.locate_file(file)))
        path.unlink(missing_ok=True)
        folders |= {path.parent} if path.name in ("__init__.py", "RECORD") else set()
    for folder in folders:
        shutil.rmtree(folder)
    return f"ferrograd.{name} does not stand for {name} any more"


def _installed(name: str) -> Any:
    """The package of a library that lies in this environment, or None."""
    from importlib.metadata import MetadataPathFinder

    context = MetadataPathFinder.Context(name=LIBRARIES[name].package, path=[sysconfig.get_path("purelib")])
    return next(iter(MetadataPathFinder.find_distributions(context)), None)


def _refuse_real(name: str, found: Any) -> None:
    if (found.read_text("INSTALLER") or "").strip() != "ferrograd":
        raise ImportError(
            f"the environment has the real {name} {found.version}: remove it first, or run the program by "
            f"python -m ferrograd.{name}"
        )
