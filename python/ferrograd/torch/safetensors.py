"""Files of tensors in the format safetensors, with the functions of ``safetensors.torch``."""

from __future__ import annotations

import os
from typing import Any

from ferrograd import _public, _safetensors
from ferrograd._dialects.numbers import TORCH
from ferrograd._safetensors import SafetensorError, save, save_file

__all__ = ["SafetensorError", "load", "load_file", "safe_open", "save", "save_file"]


def load(data: bytes) -> dict[str, Any]:
    """The tensors of bytes in the format, by name.

    >>> import ferrograd.torch as torch
    >>> from ferrograd.torch import safetensors
    >>> safetensors.load(safetensors.save({"w": torch.ones([2])}))["w"].tolist()
    [1.0, 1.0]
    """
    return _safetensors.load(data, TORCH)


def load_file(filename: str | os.PathLike[str], device: object = "cpu") -> dict[str, Any]:
    """The tensors of a file, by name. The CPU is the only device."""
    return _safetensors.load_file(filename, TORCH)


def safe_open(filename: str | os.PathLike[str], framework: str = "pt", device: object = "cpu") -> Any:
    """A file whose tensors are read one by one: ``with safe_open(path) as f: f.get_tensor(name)``."""
    return _safetensors.SafeOpen(filename, TORCH)


__dir__ = _public.names(globals())
