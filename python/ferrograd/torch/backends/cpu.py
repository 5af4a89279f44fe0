"""``torch.backends.cpu``."""

from __future__ import annotations

from ferrograd._kit import public as _public

__all__ = ["get_cpu_capability"]


def get_cpu_capability() -> str:
    """``"DEFAULT"``: kernels find out by themselves what the processor knows."""
    return "DEFAULT"


__dir__ = _public.names(globals())
