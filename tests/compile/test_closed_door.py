"""Compiled functions give the bits of the functions themselves at numbers that the trace has not seen."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import ferrograd as fg
import numpy as np
import pytest
from ferrograd import _core
from ferrograd._kit.tree import leaves, mapped

from tests.cases import Case, all_cases
from tests.check import differentiated, flat, function as named, run

CASES = {case.id: case for case in all_cases()}


def numbers(x: Any) -> bytes:
    """The bytes of a tensor. The sign of a NaN, which no op defines, is left out."""
    a = x.detach().numpy()
    if a.dtype.kind in "fc":
        a = np.ascontiguousarray(a).reshape(-1).view(a.real.dtype)
        a = np.where(np.isnan(a), a.dtype.type(np.nan), a)
    return bytes(a.tobytes())


def bits(value: Any) -> list[Any]:
    """What two results must have in common."""
    return [
        (x.dtype, tuple(x.shape), x.requires_grad, numbers(x)) if isinstance(x, fg.Tensor) else x for x in leaves(value)
    ]


def outcome(call: Callable[[], Any]) -> Any:
    try:
        return bits(call())
    except Exception as e:
        return type(e), str(e)


def agree(f: Callable[..., Any], first: list[Any], second: list[Any]) -> Any:
    """Compiles ``f``, calls it at two inputs, and compares both results with those of ``f``."""
    compiled = fg.compile(f)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for inputs in (first, second, second):
            state = _core.native.mersenne.streams()
            wanted = outcome(partial(f, *inputs))
            _core.native.mersenne.set_streams(state)
            assert outcome(partial(compiled, *inputs)) == wanted
    return compiled


def others(case: Case) -> list[Any]:
    """The inputs of a row with other numbers: the same ones in another order, which keeps them in their domain."""

    def other(x: Any) -> Any:
        if isinstance(x, list):
            return [other(part) for part in x]
        if np.ndim(x) == 0:
            return x
        x = np.asarray(x)
        square = x.ndim > 1 and x.shape[-1] == x.shape[-2]
        return np.ascontiguousarray(np.swapaxes(x, -1, -2)) if square else np.flip(x).copy()

    return [other(x) for x in case.inputs]


def tensors(inputs: Any) -> list[Any]:
    return [[fg.tensor(part) for part in x] if isinstance(x, list) else fg.tensor(x) for x in inputs]


def compute(case: Case) -> Callable[..., Any]:
    """The row's op as a function of its inputs. It names no array of NumPy."""
    op, prepare = named(case.op), case.prepare
    lead, kw = mapped(lambda x: fg.tensor(x) if isinstance(x, np.ndarray) else x, (case.lead, case.kw))
    return lambda *x: op(*lead, *prepare(*x), **kw)


def copies(f: Callable[..., Any]) -> Callable[..., Any]:
    """The function with results that share no memory, which a file could not describe."""
    return lambda *x: [t.clone() if isinstance(t, fg.Tensor) else t for t in leaves(f(*x))]


def gradients(case: Case) -> Callable[..., Any]:
    """The first and second gradients of a sum of the row's results."""
    wrt, order, pick, function = differentiated(case), case.order, case.pick, compute(case)

    def both(*x: Any) -> Any:
        x = tuple([p.detach().requires_grad_() for p in t] if isinstance(t, list) else t for t in x)
        inside = [t if i not in wrt or isinstance(t, list) else t.detach().requires_grad_() for i, t in enumerate(x)]
        leaves_ = [p for i in wrt for p in (inside[i] if isinstance(inside[i], list) else [inside[i]])]
        outs = flat(pick(function(*inside)))
        first = run(outs, leaves_, create_graph=order > 1)
        second = run(first, leaves_) if order > 1 else []
        return [[t.detach() for t in part] for part in (outs, first, second)]

    return both


SHAPE = "the shape of the result depends on numbers"
STATE = "it is about the state of the random numbers"
#: The rows that have no program, by name or by op, and why. All others have one.
WITHOUT = {
    "argwhere": SHAPE,
    "bincount": SHAPE,
    "get_default_dtype": "the result is a dtype",
    "get_rng_state": STATE,
    "manual_seed": STATE,
    "masked_select": SHAPE,
    "mersenne.draw_binomial": STATE,
    "mersenne.draw_each": STATE,
    "mersenne.exchange": STATE,
    "mersenne.seed": STATE,
    "mersenne.set_streams": STATE,
    "mersenne.state": STATE,
    "mersenne.streams": STATE,
    "nonzero": SHAPE,
    "one_hot[2x2]": SHAPE,
    "roll[3x4-]axis=1": "how far elements move is a part of the program",
    "set_rng_state": STATE,
    "unique_all": SHAPE,
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_every_op_compiled_alone(case: Case) -> None:
    functions = [compute(case), *([gradients(case)] if differentiated(case) else [])]
    programs = int(WITHOUT.keys().isdisjoint({case.op, case.id}))
    for function in functions:
        compiled = agree(function, tensors(case.inputs), tensors(others(case)))
        assert compiled.cache_info().currsize == programs, compiled.explain()
