"""``torch.utils.tensorboard``: the writer of the package tensorboardX, if it is installed."""

from __future__ import annotations

from importlib import import_module as _import_module
from importlib.util import find_spec as _find_spec
from typing import Any


def __getattr__(name: str) -> Any:
    if name != "SummaryWriter":
        raise AttributeError(f"module 'ferrograd.torch.utils.tensorboard' has no attribute {name!r}")
    try:
        return _import_module("tensorboardX").SummaryWriter
    except ModuleNotFoundError as error:
        raise ImportError("SummaryWriter is that of tensorboardX; install it with: pip install tensorboardX") from error


def __dir__() -> list[str]:
    # Tools that list the attributes of a module read each of them, and an error would end them.
    return ["SummaryWriter"] if _find_spec("tensorboardX") else []
