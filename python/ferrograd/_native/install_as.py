"""``install_as``: a dialect under the import name of its library."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Iterator, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import CodeType, ModuleType
from typing import Any, Literal, NamedTuple


class Library(NamedTuple):
    """A library that a dialect stands for."""

    #: Its name among packages.
    package: str
    #: Modules that come with it or work on its tensors, and what they are here.
    beside: dict[str, str]
    #: Console scripts, as entry points.
    scripts: dict[str, str]


#: The libraries, by the name under which programs import them: the dialect is ``ferrograd.<name>``.
LIBRARIES = {
    "torch": Library(
        "torch",
        {"functorch": "ferrograd.torch.functorch", "safetensors.torch": "ferrograd.torch.safetensors"},
        {"torchrun": "torch.distributed.run:main"},
    ),
    "paddle": Library("paddlepaddle", {"safetensors.paddle": "ferrograd.paddle.safetensors"}, {}),
    "autograd": Library("autograd", {}, {}),
}
#: Where the modules below an installed name are found: a module of a dialect.
_installed: dict[str, str] = {}
#: The versions that packages are said to have, where they are not those of the dialects.
versions: dict[str, str] = {}


def _own_name(path: str) -> str | None:
    """The module of a dialect that a path below an installed name stands for."""
    for name, own in sorted(_installed.items(), key=lambda item: -len(item[0])):
        if path == name or path.startswith(name + "."):
            return own + path.removeprefix(name)
    return None


def _share(name: str, own: str) -> None:
    """Gives the modules of a dialect that have been imported their names below the name of its library.

    A module that were imported again under such a name would replace a function of its package that has its name.
    """
    for path, module in list(sys.modules.items()):
        if path == own or path.startswith(own + "."):
            sys.modules.setdefault(name + path.removeprefix(own), module)


class _Loader(Loader):
    """Gives the module of a dialect under another path."""

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        own = str(spec.loader_state)
        module = importlib.import_module(own)
        _share(spec.name, own)
        spec.loader_state = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        found: Any = module.__spec__
        # The import system has given the module this specification; it keeps its own.
        module.__spec__ = found.loader_state

    def get_code(self, fullname: str) -> CodeType:
        """The code of the module, which ``python -m`` runs."""
        own = str(_own_name(fullname))
        spec: Any = importlib.util.find_spec(own)
        code: CodeType = spec.loader.get_code(own)
        return code


class _Finder(MetaPathFinder):
    """Finds the modules of a dialect that are imported later, under the name of its library."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        own = _own_name(fullname)
        try:
            known = own is not None and importlib.util.find_spec(own) is not None
        except ModuleNotFoundError:
            known = False
        return ModuleSpec(fullname, _Loader(), loader_state=own) if known else None

    def find_distributions(self, context: Any) -> Iterator[Any]:
        """The installed dialects as packages, for programs that ask ``importlib.metadata`` for a version."""
        from importlib.metadata import Distribution
        from pathlib import Path

        class Dialect(Distribution):
            def __init__(self, name: str) -> None:
                self._texts = package_files(name)

            def read_text(self, filename: str) -> str | None:
                return self._texts.get(filename)

            def locate_file(self, path: Any) -> Path:
                return Path(path)

        for name, library in LIBRARIES.items():
            if name in _installed and context.name in (None, library.package):
                yield Dialect(name)


_finder = _Finder()


def version_of(name: str) -> str:
    """The version that the package of a library is said to have: its dialect's ``__version__`` if none is asked for."""
    return versions.get(name) or str(importlib.import_module(f"ferrograd.{name}").__version__)


def package_files(name: str) -> dict[str, str]:
    """The files that tell package managers of a dialect in the place of its library, and their texts."""
    library = LIBRARIES[name]
    about = f"Metadata-Version: 2.1\nName: {library.package}\nVersion: {version_of(name)}\n"
    scripts = "".join(f"{script} = {place}\n" for script, place in library.scripts.items())
    tops = [name, *(path for path in library.beside if "." not in path)]
    return {
        "METADATA": f"{about}Summary: ferrograd.{name} in the place of {name}\nRequires-Dist: ferrograd\n",
        "INSTALLER": "ferrograd\n",
        "entry_points.txt": f"[console_scripts]\n{scripts}" if scripts else "",
        "top_level.txt": "".join(f"{top}\n" for top in tops),
    }


def install_as(name: Literal["autograd", "paddle", "torch"]) -> ModuleType:
    """Makes ``import paddle`` (or ``torch``, or ``autograd``) import the dialect of this library; returns the dialect.

    Its ``__name__`` is then that of the library, which some programs read. With ``torch`` comes ``functorch``, and with
    it and ``paddle`` the module of ``safetensors`` for it, or that package itself if it is not installed. The processes
    that this one starts know nothing of it: ``python -m ferrograd.torch script.py`` runs a script with all of them.

    Raises:
        ImportError: the real library has been imported already.
        ValueError: another name.

    >>> fg.install_as("paddle").__name__
    'paddle'
    """
    if name not in LIBRARIES:
        names = " and ".join(map(repr, sorted(LIBRARIES)))
        raise ValueError(f"install_as: there are the dialects {names}, not {name!r}")
    own = f"ferrograd.{name}"
    present = sys.modules.get(name)
    if present is not None and present is not sys.modules.get(own):
        raise ImportError(f"install_as: the real {name} is imported already ({present.__name__})")
    dialect = importlib.import_module(own)
    _share(name, own)
    beside = LIBRARIES[name].beside
    _installed.update({name: own, **beside})
    for path in beside.keys() & sys.modules.keys():
        # It is being imported, and has just asked for the library.
        sys.modules[path] = importlib.import_module(beside[path])
    if name != "autograd" and importlib.util.find_spec("safetensors") is None:
        _installed.setdefault("safetensors", f"{own}.safetensors")
    if _finder not in sys.meta_path:
        sys.meta_path.insert(0, _finder)
    dialect.__name__ = name
    return dialect
