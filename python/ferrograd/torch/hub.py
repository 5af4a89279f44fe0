"""``torch.hub``: files that were fetched before. Nothing is downloaded here."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any, NoReturn
from urllib.parse import urlparse

from ferrograd import _public
from ferrograd._core import ArgumentError, FerrogradError
from ferrograd.torch._files import load as _load

__all__ = ["download_url_to_file", "get_dir", "load", "load_state_dict_from_url", "set_dir"]

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
    """What is in the file of that name in ``model_dir``, by default in ``checkpoints`` below :func:`get_dir`.

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


def load(repo_or_dir: str, model: str, *args: Any, **kwargs: Any) -> NoReturn:
    """Raises: no programs are downloaded here."""
    raise FerrogradError(f"torch.hub.load: no programs are downloaded here; import the package of {repo_or_dir}")


__dir__ = _public.names(globals())
