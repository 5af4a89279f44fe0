"""``install_as``: a dialect under the import name of its library."""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import Literal


def install_as(name: Literal["paddle", "torch"]) -> ModuleType:
    """Makes ``import paddle`` (or ``import torch``) import the dialect of this library; returns the dialect.

    Raises:
        ImportError: the real library has been imported already.
        ValueError: another name.

    >>> fg.install_as("paddle").__name__
    'ferrograd.paddle'
    """
    if name not in ("paddle", "torch"):
        raise ValueError(f"install_as: there are the dialects 'paddle' and 'torch', not {name!r}")
    own = f"ferrograd.{name}"
    present = sys.modules.get(name)
    if present is not None and present.__name__ != own:
        raise ImportError(f"install_as: the real {name} is imported already ({present.__name__})")
    dialect = importlib.import_module(own)
    for path, module in list(sys.modules.items()):
        if path == own or path.startswith(own + "."):
            sys.modules[name + path.removeprefix(own)] = module
    return dialect
