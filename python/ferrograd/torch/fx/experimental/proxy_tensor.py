"""What libraries ask about a symbolic tracer, which there is none of."""

from __future__ import annotations

from ferrograd import _public

__all__ = ["get_proxy_mode"]


def get_proxy_mode() -> None:
    """None: nothing is traced symbolically."""


__dir__ = _public.names(globals())
