"""``check``: it passes what is right, and names what is wrong."""

from __future__ import annotations

from typing import Any

import ferrograd as fg
import numpy as np
import pytest
from ferrograd.testing import GradcheckError, check

from tests.func.tools import sample


def wrong(x: Any) -> Any:
    """The square, whose derivative leaves out a fifth of one element."""
    c = np.ones(x.shape)
    c.flat[1] = 0.8
    kept = fg.tensor(c, dtype=x.dtype)
    return x * x * kept + (x * x * (1 - kept)).detach()


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("order", [1, 2, 3])
def test_right_derivatives_pass(dtype: str, order: int) -> None:
    x, y = sample(3).astype(dtype), sample(2, 3, seed=1).astype(dtype)
    check(lambda x, y: (fg.tanh(y @ x), fg.exp(x * 0.3)), [x, y], order)
    check(lambda x: fg.sin(x), [fg.tensor(0.5, dtype=dtype)], order)
    check(lambda x: x[:0], [x], order)


def test_inputs_that_are_not_differentiated_for() -> None:
    check(lambda x, n, i: fg.take(x, i) ** n, [sample(4), 3, fg.tensor([0, 2])], 2)


def test_large_and_small_inputs() -> None:
    check(lambda x: x**3, [fg.tensor([1e4, 2e4], dtype="float64")], 2)
    check(lambda x: fg.sin(x * 1e3), [fg.tensor([1e-3], dtype="float64")], 2, step=1e-6)


def test_the_worst_element_is_named() -> None:
    with pytest.raises(GradcheckError) as caught:
        check(wrong, [fg.tensor([[1.0, 2.0, 3.0]], dtype="float64")])
    text = str(caught.value)
    assert "of order 1 in reverse mode mismatch for output 0 with respect to input 0" in text
    assert "The worst of 1 elements of 9" in text
    assert "the derivative of output element (0, 1) by input element (0, 1) is 3.2 analytically, 4" in text


@pytest.mark.parametrize("mode", ["reverse", "forward", "batched"])
def test_every_mode_finds_it(mode: str) -> None:
    with pytest.raises(GradcheckError, match=mode):
        check(wrong, [sample(3)], modes=[mode])


def test_a_wrong_second_derivative() -> None:
    def f(x: Any) -> Any:
        # The slope is right, but does not change with x in what is recorded.
        return (2 * x.detach()) * (x - x.detach()) + (x * x).detach()

    check(f, [sample(3)], 1)
    with pytest.raises(GradcheckError, match="of order 2"):
        check(f, [sample(3)], 2)


def test_float32_alone() -> None:
    """Where the function does not compute in float64, differences are of float32."""
    check(lambda x: fg.sin(x.astype("float32")), [fg.tensor([0.3, 0.7])], rtol=2e-3)
    with pytest.raises(GradcheckError):
        check(lambda x: wrong(x.astype("float32")), [fg.tensor([0.3, 0.7])], rtol=2e-3)


def test_chance_is_found() -> None:
    with pytest.raises(GradcheckError, match="not deterministic: output 0 differs"):
        check(lambda x: x * fg.rand(3), [sample(3)])


def test_nan_on_one_side_only() -> None:
    check(fg.sqrt, [fg.tensor([-1.0], dtype="float64")])
    with pytest.raises(GradcheckError, match="nan analytically"):
        check(nan_slope, [sample(2)])


def nan_slope(x: Any) -> Any:
    """A value without a NaN, a slope with one."""
    return fg.where(x > 10, fg.sqrt(x - 100), x)


def test_refusals() -> None:
    x = sample(2)
    for bad in (0, -1, True, 1.0):
        with pytest.raises(fg.ArgumentError, match="order must be a positive int"):
            check(fg.sin, [x], bad)  # type: ignore[arg-type]
    with pytest.raises(fg.ArgumentError, match="modes are some of"):
        check(fg.sin, [x], modes=["sideways"])
    with pytest.raises(fg.ArgumentError, match="none of the inputs"):
        check(fg.sin, [3.0])
