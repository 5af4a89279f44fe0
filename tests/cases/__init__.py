"""The table of cases: one module for each family of ops, one row or a few for each op. ``tests/check.py`` checks them.

A row holds the op's name in the native namespace, its inputs, the same function in NumPy or SciPy, and the order to
which its derivatives are checked. ``tests/project/test_registry.py`` fails for an op of the registry without a row.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Case:
    """One row.

    op: the name in the native namespace (dots allowed: ``linalg.inv``).
    inputs: the tensors given first, as NumPy arrays (a list of arrays for an op that takes a list).
    lead: arguments that are not tensors and come before the inputs.
    prepare: applied to the inputs, tensors and arrays alike, before the op gets them.
    kw: keyword arguments, passed on unchanged.
    ref: the same function on NumPy arrays; called with ``lead``, the inputs and ``kw``. None where no other library
        gives the values (``note`` then says why).
    order: the highest derivative to check, 0 for ops without a derivative.
    wrt: positions of the inputs that are differentiated; None for all floating ones.
    pick: chooses the differentiable part of a result with several tensors.
    """

    op: str
    inputs: tuple[Any, ...]
    kw: dict[str, Any] = field(default_factory=dict)
    ref: Callable[..., Any] | None = None
    order: int = 4
    wrt: tuple[int, ...] | None = None
    pick: Callable[[Any], Any] = lambda result: result
    lead: tuple[Any, ...] = ()
    prepare: Callable[..., tuple[Any, ...]] = lambda *inputs: inputs
    rtol: float = 1e-12
    grad_tol: float = 1e-6
    note: str = ""

    @property
    def id(self) -> str:
        shapes = "-".join("x".join(map(str, np.shape(i))) if not isinstance(i, list) else "list" for i in self.inputs)
        extra = "-".join([*map(str, self.lead), *(f"{k}={v}" for k, v in self.kw.items())])
        return f"{self.op}[{shapes}]{extra}"


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def normal(*shape: int, seed: int = 0) -> np.ndarray:
    """Normally distributed numbers in float64."""
    return rng(seed).normal(size=shape)


def uniform(low: float, high: float, *shape: int, seed: int = 0) -> np.ndarray:
    """Uniform numbers in float64, for ops whose domain is an interval."""
    return rng(seed).uniform(low, high, size=shape)


def all_cases() -> list[Case]:
    """The rows of every module of this package, in order."""
    rows: list[Case] = []
    for info in pkgutil.iter_modules(__path__):
        rows += importlib.import_module(f"{__name__}.{info.name}").CASES
    return rows
