"""Files of tensors in the format safetensors, with the functions of ``safetensors`` and ``safetensors.paddle``."""

from __future__ import annotations

import os
from typing import Any

from ferrograd import _core
from ferrograd._files import safetensors as _safetensors
from ferrograd._files.safetensors import SafetensorError, save, save_file
from ferrograd._kit import public as _public
from ferrograd._kit.dialect import PADDLE

__all__ = ["SafetensorError", "load", "load_file", "safe_open", "save", "save_file"]

#: Makes ``safetensors.paddle`` importable where this module stands for ``safetensors``.
__path__: list[str] = []


def load(data: bytes) -> dict[str, Any]:
    """The tensors of bytes in the format, by name.

    >>> import ferrograd.paddle as paddle
    >>> from ferrograd.paddle import safetensors
    >>> safetensors.load(safetensors.save({"w": paddle.ones([2])}))["w"].tolist()
    [1.0, 1.0]
    """
    return _safetensors.load(data, PADDLE)


def load_file(filename: str | os.PathLike[str], device: Any = "cpu") -> dict[str, Any]:
    """The tensors of a file, by name. The CPU is the only device."""
    _core.check_device("load_file", device)
    return _safetensors.load_file(filename, PADDLE)


def safe_open(filename: str | os.PathLike[str], framework: str = "paddle", device: Any = "cpu") -> Any:
    """A file whose tensors, or parts of them, are read one by one.

    ``with safe_open(path) as f: f.get_tensor("w"), f.get_slice("w")[1:]``
    """
    _core.check_device("safe_open", device)
    if framework not in ("paddle", "pd"):
        raise SafetensorError(f"safe_open: framework {framework!r} is not here; the tensors are of 'paddle'")
    return _safetensors.SafeOpen(filename, PADDLE)


__dir__ = _public.names(globals())
