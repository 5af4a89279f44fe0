"""``torch.hub``: files that were fetched before. Nothing is downloaded here."""

from __future__ import annotations

import builtins
import importlib.util
import os
import re
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any, NoReturn, cast
from urllib.parse import urlparse
from urllib.request import urlopen as urlopen

from ferrograd._core import ArgumentError, FerrogradError
from ferrograd._kit import public as _public
from ferrograd.torch.serialization import load as _load

__all__ = ["download_url_to_file", "get_dir", "help", "list", "load", "load_state_dict_from_url", "set_dir"]

_list = builtins.list
#: The part of a file's name that is the beginning of its checksum.
HASH_REGEX = re.compile(r"-([a-f0-9]*)\.")

_dir: str | None = None


def get_dir() -> str:
    """The folder of fetched files: :func:`set_dir`'s, ``$TORCH_HOME/hub``, or ``hub`` in the cache of PyTorch.

    >>> import ferrograd.torch as torch
    >>> torch.hub.set_dir("models")
    >>> torch.hub.get_dir()
    'models'
    """
    if _dir is not None:
        return _dir
    cache = os.environ.get("XDG_CACHE_HOME", "~/.cache")
    return str(Path(os.environ.get("TORCH_HOME", f"{cache}/torch")).expanduser() / "hub")


def set_dir(d: str | os.PathLike[str]) -> None:
    """Sets the folder of fetched files."""
    global _dir
    _dir = str(Path(d).expanduser())


def load_state_dict_from_url(
    url: str,
    model_dir: str | None = None,
    map_location: Any = None,
    progress: bool = True,
    check_hash: bool = False,
    file_name: str | None = None,
    weights_only: bool = True,
) -> Any:
    """The contents of the file of that name in ``model_dir``, by default in ``checkpoints`` below :func:`get_dir`.

    Raises:
        FerrogradError: there is no such file.
    """
    if not isinstance(url, str):
        raise ArgumentError(f"load_state_dict_from_url: url must be a str, not {type(url).__name__}")
    name = file_name or os.path.basename(urlparse(url).path)
    path = Path(model_dir or os.path.join(get_dir(), "checkpoints")) / name
    if not path.exists():
        raise FerrogradError(f"torch.hub.load_state_dict_from_url: nothing is downloaded here; put {url} into {path}")
    return _load(path, map_location, weights_only=weights_only)


def download_url_to_file(url: str, dst: str, hash_prefix: str | None = None, progress: bool = True) -> NoReturn:
    """Raises: nothing is downloaded here."""
    raise FerrogradError(f"torch.hub.download_url_to_file: nothing is downloaded here; put {url} into {dst}")


def _get_torch_home() -> str:
    """The folder that :func:`get_dir` is in, where programs keep other fetched files."""
    return str(Path(get_dir()).parent)


def _entries(repo_or_dir: str, source: str) -> ModuleType:
    """The module ``hubconf.py`` of a folder, which has the models."""
    path = Path(repo_or_dir) / "hubconf.py"
    if source != "local":
        raise FerrogradError(f"torch.hub: no programs are downloaded here; import the package of {repo_or_dir}")
    spec = importlib.util.spec_from_file_location("hubconf", path)
    if spec is None or spec.loader is None or not path.exists():
        raise FileNotFoundError(f"torch.hub: there is no {path}")
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(path.parent))
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(path.parent))
    return module


def _entry(repo_or_dir: str, model: str, source: str) -> Callable[..., Any]:
    found: Any = getattr(_entries(repo_or_dir, source), model, None)
    if not callable(found):
        raise RuntimeError(f"Cannot find callable {model} in hubconf")
    return cast("Callable[..., Any]", found)


def load(repo_or_dir: str, model: str, *args: Any, source: str = "github", **kwargs: Any) -> Any:
    """A model that the file ``hubconf.py`` of a folder makes (``source="local"``).

    Raises:
        FerrogradError: another source; no programs are downloaded here.
    """
    options = ("trust_repo", "force_reload", "verbose", "skip_validation")
    return _entry(repo_or_dir, model, source)(*args, **{k: v for k, v in kwargs.items() if k not in options})


def help(github: str, model: str, *, source: str = "github", **others: Any) -> str | None:
    """The documentation of a model in the file ``hubconf.py`` of a folder (``source="local"``)."""
    return _entry(github, model, source).__doc__


def list(github: str, *, source: str = "github", **others: Any) -> _list[str]:
    """The names of the models that the file ``hubconf.py`` of a folder makes (``source="local"``)."""
    found = vars(_entries(github, source)).items()
    return [name for name, value in found if callable(value) and not name.startswith("_")]


__dir__ = _public.names(globals())
