"""What the public modules of the torch dialect stand on."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from ferrograd._kit import public


def _absent(module: str, name: str) -> Any:
    """A name that a module of the dialect lacks; programs that find all names do not import the table."""
    return import_module("ferrograd.torch._base.absent").look_up(module, name)


public.absent["torch"] = _absent
