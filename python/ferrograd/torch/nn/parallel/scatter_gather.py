"""Parts of arguments for several GPUs. There are no GPUs here."""

from __future__ import annotations

from typing import Any, NoReturn

from ferrograd._core import ArgumentError
from ferrograd._kit import public as _public

__all__ = ["gather", "scatter", "scatter_kwargs"]


def _refuse(function: str) -> NoReturn:
    raise ArgumentError(f"{function}: there are no GPUs; the module itself takes the whole batch")


def scatter(inputs: Any, target_gpus: Any, dim: int = 0) -> NoReturn:
    """Raises: there are no GPUs."""
    _refuse("scatter")


def scatter_kwargs(inputs: Any, kwargs: Any, target_gpus: Any, dim: int = 0) -> NoReturn:
    """Raises: there are no GPUs."""
    _refuse("scatter_kwargs")


def gather(outputs: Any, target_device: Any, dim: int = 0) -> NoReturn:
    """Raises: there are no GPUs."""
    _refuse("gather")


__dir__ = _public.names(globals())
