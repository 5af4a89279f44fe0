"""``install_as``: a dialect under the import name of its library."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Iterator, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any, Literal

#: Packages that come with a library or work on its tensors, as modules of its dialect.
_BESIDE = {
    "torch": {"functorch": "ferrograd.torch.func", "safetensors.torch": "ferrograd.torch.safetensors"},
    "paddle": {"safetensors.paddle": "ferrograd.paddle.safetensors"},
}
#: The names under which package managers know the libraries.
_PACKAGES = {"torch": "torch", "paddle": "paddlepaddle"}
#: Where the modules below an installed name are found: a module of a dialect.
_installed: dict[str, str] = {}


def _own_name(path: str) -> str | None:
    """The module of a dialect that a path below an installed name stands for."""
    for name, own in sorted(_installed.items(), key=lambda item: -len(item[0])):
        if path == name or path.startswith(name + "."):
            return own + path.removeprefix(name)
    return None


class _Loader(Loader):
    """Gives the module of a dialect under another path."""

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        module = importlib.import_module(str(spec.loader_state))
        spec.loader_state = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        found: Any = module.__spec__
        # The import system has given the module this specification; it keeps its own.
        module.__spec__ = found.loader_state


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
            def __init__(self, package: str, version: str) -> None:
                self._texts = {"METADATA": f"Metadata-Version: 2.1\nName: {package}\nVersion: {version}\n"}

            def read_text(self, filename: str) -> str | None:
                return self._texts.get(filename)

            def locate_file(self, path: Any) -> Path:
                return Path(path)

        for name, package in _PACKAGES.items():
            if name in _installed and context.name in (None, package):
                yield Dialect(package, importlib.import_module(_installed[name]).__version__)


_finder = _Finder()


def install_as(name: Literal["paddle", "torch"]) -> ModuleType:
    """Makes ``import paddle`` (or ``import torch``) import the dialect of this library; returns the dialect.

    Its ``__name__`` is then that of the library, which some programs read. With ``torch`` comes ``functorch``, and with
    either the module of ``safetensors`` for it, or that package itself if it is not installed.

    Raises:
        ImportError: the real library has been imported already.
        ValueError: another name.

    >>> fg.install_as("paddle").__name__
    'paddle'
    """
    if name not in ("paddle", "torch"):
        raise ValueError(f"install_as: there are the dialects 'paddle' and 'torch', not {name!r}")
    own = f"ferrograd.{name}"
    present = sys.modules.get(name)
    if present is not None and present is not sys.modules.get(own):
        raise ImportError(f"install_as: the real {name} is imported already ({present.__name__})")
    dialect = importlib.import_module(own)
    for path, module in list(sys.modules.items()):
        if path == own or path.startswith(own + "."):
            sys.modules[name + path.removeprefix(own)] = module
    _installed.update({name: own, **_BESIDE[name]})
    if importlib.util.find_spec("safetensors") is None:
        _installed.setdefault("safetensors", f"{own}.safetensors")
    if _finder not in sys.meta_path:
        sys.meta_path.insert(0, _finder)
    dialect.__name__ = name
    return dialect
