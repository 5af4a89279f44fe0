"""A dialect under the name of the library that it speaks like."""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import Literal


def install_as(name: Literal["paddle", "torch"]) -> ModuleType:
    """Lets ``import paddle`` (or ``import torch``) find the dialect of this library, and returns it.

    Raises:
        ImportError: the real library is imported already.

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
