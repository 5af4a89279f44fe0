"""``paddle.incubate.autotune``: switches that change nothing here, as there is one kernel for each op."""

from __future__ import annotations

from ferrograd._core import ArgumentError
from ferrograd._kit import public as _public

__all__ = ["set_config"]


def set_config(config: dict[str, dict[str, object]] | str | None = None) -> None:
    """Takes a dict of switches, or a file with one, for "kernel", "layout" and "dataloader". It changes nothing."""
    if not isinstance(config, dict | str | None):
        raise ArgumentError(f"set_config: config is a dict or the name of a file, not {type(config).__name__}")


__dir__ = _public.names(globals())
