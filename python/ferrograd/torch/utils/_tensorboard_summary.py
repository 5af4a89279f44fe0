"""``torch.utils.tensorboard.summary``: functions of the package tensorboardX that make records, if it is there."""

from __future__ import annotations

from importlib import import_module as _import_module
from typing import Any

__all__: list[str] = []


def __getattr__(name: str) -> Any:
    if name.startswith("_"):
        raise AttributeError(name)
    try:
        return getattr(_import_module("tensorboardX.summary"), name)
    except ModuleNotFoundError as error:
        raise ImportError(f"{name} is that of tensorboardX; install it with: pip install tensorboardX") from error
