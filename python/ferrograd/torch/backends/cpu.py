"""``torch.backends.cpu``."""

from __future__ import annotations

from ferrograd._kit import public as _public

__all__ = ["get_cpu_capability"]


def get_cpu_capability() -> str:
    """``"DEFAULT"``: kernels find out by themselves which instructions the processor has."""
    return "DEFAULT"


__dir__ = _public.names(globals())
