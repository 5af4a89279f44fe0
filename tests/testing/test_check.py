"""``check`` passes right derivatives and names wrong ones."""

from __future__ import annotations

from typing import Any

import ferrograd as fg
import ferrograd.paddle as paddle
import ferrograd.torch as torch
import numpy as np
import pytest
from ferrograd.testing import GradcheckError, check

from tests.func.tools import sample


def wrong(x: Any) -> Any:
    """The square with a derivative that is a fifth too small for one element."""
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


def test_inputs_that_are_not_differentiated() -> None:
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
        # The derivative has the right value, but is recorded as a constant.
        return (2 * x.detach()) * (x - x.detach()) + (x * x).detach()

    check(f, [sample(3)], 1)
    with pytest.raises(GradcheckError, match="of order 2"):
        check(f, [sample(3)], 2)


def test_float32_alone() -> None:
    """If the function does not compute in float64, differences are taken in float32."""
    check(lambda x: fg.sin(x.astype("float32")), [fg.tensor([0.3, 0.7])], rtol=2e-3)
    with pytest.raises(GradcheckError):
        check(lambda x: wrong(x.astype("float32")), [fg.tensor([0.3, 0.7])], rtol=2e-3)


def test_randomness_is_found() -> None:
    with pytest.raises(GradcheckError, match="not deterministic: output 0 differs"):
        check(lambda x: x * fg.rand(3), [sample(3)])


def test_nan_on_one_side_only() -> None:
    check(fg.sqrt, [fg.tensor([-1.0], dtype="float64")])
    with pytest.raises(GradcheckError, match="nan analytically"):
        check(nan_slope, [sample(2)])


def nan_slope(x: Any) -> Any:
    """A function with a finite value and a NaN derivative."""
    return fg.where(x > 10, fg.sqrt(x - 100), x)


def test_wrong_arguments_raise() -> None:
    x = sample(2)
    for bad in (0, -1, True, 1.0):
        with pytest.raises(fg.ArgumentError, match="order must be a positive int"):
            check(fg.sin, [x], bad)  # type: ignore[arg-type]
    with pytest.raises(fg.ArgumentError, match="modes are some of"):
        check(fg.sin, [x], modes=["sideways"])
    with pytest.raises(fg.ArgumentError, match="none of the inputs"):
        check(fg.sin, [3.0])


class Cube(fg.Function):
    """A function with a right first and a wrong second derivative: the first is saved as a number."""

    slope: Any = staticmethod(lambda x: 3 * x**2)

    @staticmethod
    def forward(ctx: Any, x: Any, k: float) -> Any:
        ctx.save_for_backward(x)
        ctx.k = k
        return x**3 * k

    @classmethod
    def backward(cls, ctx: Any, g: Any) -> Any:
        (x,) = ctx.saved_tensors
        return g * ctx._function.slope(x) * ctx.k, None


def test_a_function_checks_itself() -> None:
    Cube.check([sample(3), 2.0])

    class Wrong(Cube):
        slope = staticmethod(lambda x: 3 * x**2 + 0.01)

    with pytest.raises(GradcheckError, match=r"^Wrong: Jacobian of order 1 in reverse mode mismatch"):
        Wrong.check([sample(3), 2.0])

    class Flat(Cube):
        slope = staticmethod(lambda x: 3 * x.detach() ** 2)

    Flat.check([sample(3), 2.0], order=1)
    with pytest.raises(GradcheckError) as caught:
        Flat.check([fg.tensor([1.0, 2.0], dtype="float64"), 2.0])
    text = str(caught.value)
    assert text.startswith("Flat: Jacobian of order 2")
    assert "by input element (1,) is 0 analytically, 34.8" in text


def test_layers_of_the_dialects_check_themselves() -> None:
    class Product(paddle.autograd.PyLayer):
        @staticmethod
        def forward(ctx: Any, pair: Any) -> Any:
            ctx.save_for_backward(*pair)
            return pair[0] * pair[1]

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            x, y = ctx.saved_tensor()
            return [g * y, g * x]

    class Joined(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any, y: Any) -> Any:
            ctx.save_for_backward(x, y)
            return x @ y

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            x, y = ctx.saved_tensors
            return g @ y.T, x.T @ g

    Joined.check([torch.tensor(sample(2, 3).numpy()), torch.tensor(sample(3, 2, seed=1).numpy())], order=2)
    x = [paddle.to_tensor(sample(2, seed=s).numpy()) for s in (1, 2)]
    Product.check([x], order=2)


def test_one_input_and_one_mode() -> None:
    check(fg.sin, sample(3), modes="forward")
    with pytest.raises(fg.ArgumentError, match="modes are some of"):
        check(fg.sin, sample(3), modes="sideways")
