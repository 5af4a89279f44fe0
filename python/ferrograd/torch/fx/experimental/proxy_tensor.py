"""What libraries ask about a symbolic tracer, which there is none of."""

from __future__ import annotations

from typing import Any, NoReturn

from ferrograd._core import FerrogradError
from ferrograd._kit import public as _public

__all__ = ["get_proxy_mode", "make_fx"]


def get_proxy_mode() -> None:
    """None: nothing is traced symbolically."""


def make_fx(f: Any, *args: Any, **kwargs: Any) -> NoReturn:
    """Raises: nothing is traced symbolically."""
    raise FerrogradError("make_fx: use torch.compile, or ferrograd.graph for a picture of the graph")


__dir__ = _public.names(globals())
