"""Compiled functions give the bits of the functions themselves for arguments that lie in memory in any order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ferrograd as fg
import numpy as np
import pytest

from tests.cases import Case
from tests.check import differentiated
from tests.compile.test_closed_door import CASES, agree, compute, gradients, others


def transposed(x: np.ndarray) -> Any:
    return fg.permute(fg.tensor(np.ascontiguousarray(x.T)), tuple(range(x.ndim))[::-1])


def reversed_(x: np.ndarray) -> Any:
    return fg.tensor(np.flip(x).copy())[(slice(None, None, -1),) * x.ndim]


def expanded(x: np.ndarray) -> Any:
    return fg.expand(fg.tensor(x[:1]), x.shape)


def sliced(x: np.ndarray) -> Any:
    return fg.tensor(np.repeat(x, 2, axis=-1))[..., ::2]


LAYOUTS: dict[str, Callable[[np.ndarray], Any]] = {
    "transposed": transposed,
    "reversed": reversed_,
    "expanded": expanded,
    "sliced": sliced,
}


def laid_out(inputs: Any, layout: Callable[[np.ndarray], Any]) -> list[Any]:
    def tensor(x: Any) -> Any:
        if isinstance(x, list):
            return [tensor(part) for part in x]
        x = np.asarray(x)
        return layout(x) if x.ndim > 0 and x.size > 0 else fg.tensor(x)

    return [tensor(x) for x in inputs]


def cases_in_layouts() -> list[Any]:
    """The first case of each op in all layouts, each other one in one of them and, in the long run, in the others."""
    params, met = [], set()
    for i, (name, case) in enumerate(CASES.items()):
        one = list(LAYOUTS)[i % len(LAYOUTS)]
        chosen = [one] if case.op in met else list(LAYOUTS)
        params.append(pytest.param(case, chosen, id=name))
        if case.op in met:
            rest = [layout for layout in LAYOUTS if layout != one]
            params.append(pytest.param(case, rest, id=f"{name} in others", marks=pytest.mark.long))
        met.add(case.op)
    return params


@pytest.mark.parametrize(("case", "names"), cases_in_layouts())
def test_every_op_of_arguments_in_any_layout(case: Case, names: list[str]) -> None:
    for layout in map(LAYOUTS.__getitem__, names):
        first, second = laid_out(case.inputs, layout), laid_out(others(case), layout)
        agree(compute(case), first, second)
        if differentiated(case):
            agree(gradients(case), first, second)


SUMS: dict[str, Callable[[Any], Any]] = {
    "sum": lambda x: (x.sum(), x.sum(0), x.sum(1)),
    "softmax": lambda x: fg.softmax(x, -1),
    "deviation": lambda x: (fg.std(x, 0), fg.var(x)),
    "product": lambda x: (x @ x.T, x.T @ x, x @ x[0], fg.prod(1 + x * 0.01)),
    "flat": lambda x: (x.reshape(-1) * 2).sum(),
    "gradient": fg.func.grad(lambda x: fg.tanh(x).sum() * fg.logsumexp(x, 0).sum()),
}


@pytest.mark.parametrize("f", SUMS.values(), ids=SUMS)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", [(30, 50), (200, 300), (1000, 3)])
def test_long_sums_of_arguments_in_any_layout(f: Callable[[Any], Any], shape: tuple[int, int], dtype: str) -> None:
    first, second = (np.random.default_rng(seed).normal(size=shape).astype(dtype) for seed in range(2))
    for layout in LAYOUTS.values():
        compiled = agree(f, [layout(first)], [layout(second)])
        assert compiled.cache_info().hits == 2
