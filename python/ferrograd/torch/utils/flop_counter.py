"""``torch.utils.flop_counter``: the name that libraries import; ops are not counted by a context."""

from __future__ import annotations

from typing import Any

from ferrograd._kit import public as _public
from ferrograd.torch.utils._python_dispatch import TorchDispatchMode

__all__ = ["FlopCounterMode"]


class FlopCounterMode(TorchDispatchMode):
    """The context that in torch counts operations. It cannot be entered; ``paddle.flops`` counts those of layers."""

    def __init__(self, mods: Any = None, depth: int = 2, display: bool = True, custom_mapping: Any = None) -> None:
        self.mods, self.depth, self.display, self.custom_mapping = mods, depth, display, custom_mapping


__dir__ = _public.names(globals())
