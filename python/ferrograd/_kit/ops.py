"""The functions of torch in the core, with which its layers and the distributions compute.

Once a program has tensors that answer for functions of torch, the functions here ask them.
"""

from __future__ import annotations

from types import ModuleType
from typing import TYPE_CHECKING, Any

from ferrograd._core import torch

__all__ = ["ops"]

if TYPE_CHECKING:
    from ferrograd._core import torch as ops
else:

    def _same(module: ModuleType) -> ModuleType:
        """A module with the names of another one. It takes each from there when it is first asked for it."""
        made = ModuleType(module.__name__)

        def find(name: str) -> Any:
            value = getattr(module, name)
            setattr(made, name, value)
            return value

        made.__getattr__ = find
        return made

    ops = _same(torch)
    ops.linalg = _same(torch.linalg)
