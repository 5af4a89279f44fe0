"""What completion offers in a module."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any


def names(module: dict[str, Any]) -> Callable[[], list[str]]:
    """The ``__dir__`` of a module with these globals: what it exports, and its public submodules.

    >>> import ferrograd.func as func
    >>> [name for name in dir(func) if name.startswith("hess")]
    ['hessian', 'hessian_diagonal']
    """

    def __dir__() -> list[str]:
        inside = module["__name__"] + "."
        below = {n for n, v in module.items() if isinstance(v, ModuleType) and v.__name__ == inside + n and n[0] != "_"}
        return sorted({*module["__all__"], *below})

    return __dir__
