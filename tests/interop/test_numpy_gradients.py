"""NumPy's functions keep the graph of a tracked tensor, compute what has no derivative, or raise; none drops it."""

from collections.abc import Callable
from typing import Any

import ferrograd as fg
import numpy as np
import pytest
from ferrograd._numpy import protocol, table
from ferrograd._numpy.functions import SPECIAL

DISPATCHER = type(np.sum)
MODULES = {"": np, "linalg.": np.linalg, "fft.": np.fft}
FUNCTIONS: dict[str, Any] = {
    prefix + name: getattr(module, name)
    for prefix, module in MODULES.items()
    for name in dir(module)
    if isinstance(getattr(module, name), DISPATCHER)
}
NAMES = {protocol._name(f) for f in FUNCTIONS.values()}
ANSWERED = {*table.FUNCTIONS, *(protocol._name(f) for f in SPECIAL)}
REFUSED = sorted(name for name in FUNCTIONS if protocol._name(FUNCTIONS[name]) not in ANSWERED | table.NO_DERIVATIVE)


def test_the_functions_without_a_derivative_are_numpys() -> None:
    assert table.NO_DERIVATIVE <= NAMES
    assert not table.NO_DERIVATIVE & ANSWERED


@pytest.mark.parametrize("name", REFUSED)
def test_a_function_without_a_rule_refuses_a_tracked_tensor(name: str) -> None:
    x = fg.tensor([1.0, 2.0], requires_grad=True)
    with pytest.raises(TypeError, match=r"has no gradient for Tensors; detach\(\)"):
        protocol.function(FUNCTIONS[name], (fg.Tensor,), (x,), {})
    with pytest.raises(TypeError, match="detach"):
        protocol.function(FUNCTIONS[name], (fg.Tensor,), ([np.ones(2), (x,)],), {})


CALLS: dict[str, Callable[[Any], Any]] = {
    "polyint": np.polyint,
    "geomspace": lambda x: np.geomspace(x, 9.0, 3),
    "choose": lambda x: np.choose([0, 1], [x, x]),
    "roots": np.roots,
    "copyto": lambda x: np.copyto(np.zeros(2), x),
    "histogram": np.histogram,
}


@pytest.mark.parametrize("name", CALLS)
def test_the_same_function_computes_the_values_of_what_is_not_tracked(name: str) -> None:
    x = fg.tensor([1.0, 2.0], dtype=fg.float64)
    want = CALLS[name](np.array([1.0, 2.0]))
    np.testing.assert_equal(CALLS[name](x), want)
    tracked = fg.tensor([1.0, 2.0], dtype=fg.float64, requires_grad=True)
    with pytest.raises(TypeError, match=rf"numpy\.{name} has no gradient"):
        CALLS[name](tracked)
    with pytest.raises(TypeError, match="has no gradient"):
        fg.func.grad(lambda v: fg.sum(fg.asarray(CALLS[name](v))))(x)
    np.testing.assert_equal(CALLS[name](tracked.detach()), want)
    with fg.no_grad():
        np.testing.assert_equal(CALLS[name](tracked), want)


def test_a_result_without_a_derivative_is_computed_of_a_tracked_tensor() -> None:
    x = fg.tensor([2.0, 1.0], requires_grad=True)
    assert np.allclose(x, [2.0, 1.0])
    assert np.searchsorted([0.0, 1.5], x).tolist() == [2, 1]
    assert np.lexsort((x,)).tolist() == [1, 0]
    assert np.array2string(x) == "[2. 1.]"  # type: ignore[arg-type]
    assert np.result_type(x, np.float64) == np.float64


def test_broadcast_arrays_keeps_the_gradient_and_takes_text() -> None:
    x = fg.tensor([2.0, 1.0], requires_grad=True)
    wide, ones, text = np.broadcast_arrays(x, [[1.0], [1.0], [1.0]], "a")
    assert fg.grad((wide * fg.tensor(ones)).sum(), x).tolist() == [3.0, 3.0]
    assert text.tolist() == [["a", "a"]] * 3
