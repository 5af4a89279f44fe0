"""The table of cases: one module a family, one row (or a few) an op. Every check of an op is made from its rows.

A row names the op as the native namespace does, gives its inputs, what NumPy or SciPy say of them, and to which order
its derivatives are checked. An op of the registry without a row fails ``tests/ops/test_cases.py``.
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
    lead: arguments that are no tensors and stand before the inputs.
    prepare: what is made of the inputs, of tensors and arrays alike, before the op gets them.
    kw: further arguments by name, passed on as they are.
    ref: the same function on NumPy arrays; called with ``lead``, the inputs and ``kw``. None where values have no
        oracle (the row then says why in ``note``).
    order: how often the result is differentiated, 0 for ops without a derivative.
    wrt: positions of the inputs that are differentiated; None for all floating ones.
    pick: chooses the differentiable part of a result with several tensors.
    """

    op: str
    inputs: tuple[Any, ...]
    kw: dict[str, Any] = field(default_factory=dict)
    ref: Callable[..., Any] | None = None
    order: int = 3
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
    """Normal numbers in float64."""
    return rng(seed).normal(size=shape)


def uniform(low: float, high: float, *shape: int, seed: int = 0) -> np.ndarray:
    """Numbers between two bounds in float64, for ops with a domain."""
    return rng(seed).uniform(low, high, size=shape)


def all_cases() -> list[Case]:
    """The rows of every module of this package, in order."""
    rows: list[Case] = []
    for info in pkgutil.iter_modules(__path__):
        rows += importlib.import_module(f"{__name__}.{info.name}").CASES
    return rows
