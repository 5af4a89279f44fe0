"""``torch.backends.opt_einsum``: ``einsum`` finds a good order of products by itself."""

from __future__ import annotations

from ferrograd._kit import public as _public

__all__ = ["get_opt_einsum", "is_available"]

#: Switches that can be set and read, and change nothing.
enabled = True
strategy: str | None = "auto"


def is_available() -> bool:
    """False: the package opt_einsum is not used."""
    return False


def get_opt_einsum() -> None:
    """None: the package opt_einsum is not used."""


__dir__ = _public.names(globals())
