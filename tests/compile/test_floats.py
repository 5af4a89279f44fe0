"""Floats among the arguments that differ from call to call."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import ferrograd as fg
import ferrograd.torch as torch
import numpy as np
import pytest
from ferrograd import paddle

from tests.compile.test_closed_door import outcome
from tests.compile.test_programs import array

VALUES = [0.1, 0.25, -3.5, 0.0, -0.0, math.inf, math.nan, 1e-300, 0.1]

AS_TENSORS: dict[str, Callable[..., Any]] = {
    "product": lambda x, k: x * k,
    "reflected": lambda x, k: [k * x, k + x, k - x, k / x],
    "quotient": lambda x, k: x / k,
    "formula": lambda x, k: x - (2 * k + 1) * x * -k / 4,
    "negated": lambda x, k: -k * x.sum() - (k - k),
}
BY_VALUE: dict[str, Callable[..., Any]] = {
    "if": lambda x, k: x * k if k > 0.2 else x,
    "truth": lambda x, k: x if k else x * 2,
    "power": lambda x, k: [x**k, k**x],
    "math": lambda x, k: x * math.cos(k) if math.isfinite(k) else x,
    "rounded": lambda x, k: x * round(k, 1),
    "text": lambda x, k: x * len(str(k)),
    "function": lambda x, k: fg.multiply(x, k),
    "half": lambda x, k: fg.cast(x, "float16") * k,
    "integers": lambda x, k: fg.cast(x, "int32") * k,
    "complex": lambda x, k: fg.cast(x, "complex64") * k,
    "result": lambda x, k: (x, k),
    "NumPy": lambda x, k: x * float(np.float32(k)),
    "full": lambda x, k: x * fg.full([3], k),
}


def check(f: Callable[..., Any], make: Callable[[Any], Any]) -> Any:
    compiled = fg.compile(f)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for i, k in enumerate(VALUES):
            x = make(array(3, seed=i))
            assert outcome(partial(compiled, x, k)) == outcome(partial(f, x, k))
    return compiled


@pytest.mark.parametrize("make", [fg.tensor, torch.tensor, paddle.to_tensor], ids=["native", "torch", "paddle"])
@pytest.mark.parametrize("f", AS_TENSORS.values(), ids=AS_TENSORS)
def test_floats_that_meet_tensors_alone_are_inputs(f: Callable[..., Any], make: Callable[[Any], Any]) -> None:
    assert check(f, make).cache_info().misses == 2
    compiled = check(f, lambda x: make(x.astype(np.float64)))
    assert compiled.cache_info().hits == len(VALUES) - 2


@pytest.mark.parametrize("f", BY_VALUE.values(), ids=BY_VALUE)
def test_floats_whose_value_is_asked_for_are_compared_by_value(f: Callable[..., Any]) -> None:
    assert check(f, fg.tensor).cache_info().misses > 2


def test_a_quotient_of_floats_is_refused_as_in_python() -> None:
    f = fg.compile(lambda x, k: x * (1 / k))
    for k in (1.0, 2.0, 4.0):
        assert f(fg.ones(1), k).item() == 1 / k
    with pytest.raises(ZeroDivisionError):
        f(fg.ones(1), 0.0)


def test_a_step_with_its_rate_by_name_and_in_place() -> None:
    w = torch.ones(2, requires_grad=True)

    def step(x: Any, *, rate: float, scale: float = 1.0) -> Any:
        loss = (w * x * scale).square().sum()
        (g,) = torch.autograd.grad(loss, [w])
        with torch.no_grad():
            w.sub_(rate * g)
        x *= rate
        return loss.detach()

    compiled, other = fg.compile(step, fullgraph=True), torch.ones(2, requires_grad=True)
    for i in range(1, 6):
        mine, theirs = torch.full((2,), float(i)), torch.full((2,), float(i))
        found = compiled(mine, rate=0.1 / i)
        own, w = w, other
        wanted = step(theirs, rate=0.1 / i)
        other, w = w, own
        assert found.item() == wanted.item()
        assert own.tolist() == other.tolist()
        assert mine.tolist() == theirs.tolist()
    assert compiled.cache_info().misses == 2


def test_a_number_that_is_kept_is_a_float() -> None:
    kept: list[Any] = []

    def f(x: Any, k: float) -> Any:
        kept[:] = [k]
        return x * k

    compiled = fg.compile(f)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for k in (1.0, 2.0, 3.0, 4.0):
            assert compiled(fg.ones(1), k).item() == k
            assert kept[0] + 1 == k + 1
            assert (fg.ones(1) * kept[0]).item() == k
