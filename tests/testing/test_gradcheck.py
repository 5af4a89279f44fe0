"""``gradcheck`` and ``gradgradcheck``, native and torch's."""

from __future__ import annotations

from typing import Any

import ferrograd as fg
import numpy as np
import pytest
from ferrograd import torch
from ferrograd.testing import GradcheckError, gradcheck, gradgradcheck

from tests.func.tools import sample
from tests.testing.test_check import wrong

ALL: dict[str, Any] = {
    "check_forward_ad": True,
    "check_batched_grad": True,
    "check_batched_forward_grad": True,
    "check_undefined_grad": True,
}


def leaf(*shape: int, seed: int = 0) -> Any:
    return sample(*shape, seed=seed, track=True)


@pytest.mark.parametrize("fast_mode", [False, True])
def test_right_derivatives_pass(fast_mode: bool) -> None:
    x, y = leaf(3), leaf(2, 3, seed=1)
    assert gradcheck(lambda x, y: (fg.tanh(y @ x), fg.exp(x)), (x, y), fast_mode=fast_mode, **ALL)
    assert gradcheck(fg.sin, x, fast_mode=fast_mode)
    assert gradgradcheck(lambda x, y: (fg.tanh(y @ x), x**3), (x, y), fast_mode=fast_mode)
    assert gradgradcheck(lambda x: x**3, x, check_fwd_over_rev=True, check_batched_grad=True, fast_mode=fast_mode)
    assert gradgradcheck(lambda x: x**3, x, fg.tensor([1.0, 2.0, 3.0], dtype="float64", requires_grad=True))


@pytest.mark.parametrize("fast_mode", [False, True])
def test_s130_wrong_ones_are_named(fast_mode: bool) -> None:
    x = leaf(1, 3)
    with pytest.raises(GradcheckError, match="Jacobian mismatch for output 0 with respect to input 0,\n") as caught:
        gradcheck(wrong, (x,), fast_mode=fast_mode)
    assert "output element (0, 1) by input element (0, 1)" in str(caught.value)
    with pytest.raises(GradcheckError, match="computed with forward mode mismatch"):
        gradcheck(wrong, (x,), check_forward_ad=True, check_backward_ad=False, fast_mode=fast_mode)
    assert not gradcheck(wrong, (x,), raise_exception=False, fast_mode=fast_mode)
    assert isinstance(caught.value, RuntimeError)


def test_inputs_that_are_not_tracked_are_left_alone() -> None:
    assert gradcheck(lambda x, y, n: (x * y) ** n, (leaf(2), sample(2, seed=1), 2))


def test_outputs_that_are_not_tracked() -> None:
    assert gradcheck(lambda x: (x * x, fg.ones(3)), leaf(2))
    assert gradcheck(lambda x: fg.ones(3), leaf(2))
    with pytest.raises(GradcheckError, match="expected to be zero"):
        gradcheck(lambda x: x.detach() * 2, leaf(2))


def test_chance_is_found() -> None:
    with pytest.raises(GradcheckError, match="not deterministic"):
        gradcheck(lambda x: fg.dropout(x * 3), leaf(30))


def test_float32_warns() -> None:
    x = fg.tensor([0.5, 0.6], requires_grad=True)
    with pytest.warns(UserWarning, match="Input #0 requires gradient and is not a double precision"):
        assert gradcheck(fg.sin, x, eps=1e-2, atol=1e-2)


def test_torch_has_them_too() -> None:
    x = torch.tensor([0.5, 2.0], dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(torch.sin, (x,), eps=1e-6, atol=1e-4)
    assert torch.autograd.gradgradcheck(torch.sin, (x,))
    from ferrograd.torch.autograd.gradcheck import GradcheckError as Error

    assert Error is GradcheckError
    seen: list[Any] = []

    def double(x: Any) -> Any:
        seen.append(type(x))
        return x * 2

    torch.autograd.gradcheck(double, (x,))
    assert set(seen) == {torch.Tensor}


def test_refusals() -> None:
    x = leaf(2)
    with pytest.raises(ValueError, match="at least one input tensor to require gradient"):
        gradcheck(fg.sin, sample(2))
    with pytest.raises(AssertionError, match="at least one of check_forward_ad or check_backward_ad"):
        gradcheck(fg.sin, x, check_backward_ad=False)
    with pytest.raises(AssertionError, match="check_batched_grad=True requires"):
        gradcheck(fg.sin, x, check_backward_ad=False, check_forward_ad=True, check_batched_grad=True)
    with pytest.raises(AssertionError, match="check_batched_forward_grad=True requires"):
        gradcheck(fg.sin, x, check_batched_forward_grad=True)
    with pytest.raises(AssertionError, match="at least one of check_fwd_over_rev or check_rev_over_rev"):
        gradgradcheck(fg.sin, x, check_rev_over_rev=False)
    with pytest.raises(AssertionError, match="check_undefined_grad=True requires"):
        gradgradcheck(fg.sin, x, check_rev_over_rev=False, check_fwd_over_rev=True)
    with pytest.raises(AssertionError, match="check_batched_grad=True requires"):
        gradgradcheck(
            fg.sin,
            x,
            check_rev_over_rev=False,
            check_fwd_over_rev=True,
            check_undefined_grad=False,
            check_batched_grad=True,
        )


def test_the_order_of_indices_in_the_report() -> None:
    """The transposed matrix is told from the matrix."""
    a = np.arange(6.0).reshape(2, 3)

    def f(x: Any) -> Any:
        m = fg.tensor(a)
        return m @ x + (fg.tensor([[0.0, 0, 5], [0, 0, 0]], dtype="float64") @ x).detach()

    with pytest.raises(GradcheckError, match=r"output element \(0,\) by input element \(2,\) is 2 analytically, 7"):
        gradcheck(f, leaf(3))


def test_dtypes_of_gradients() -> None:
    """A rule that returns another dtype gets it cast, so what is asked for holds."""

    class Single(fg.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return (g * 2).astype("float32")

    x = fg.tensor([0.5, 2.0], dtype="float64", requires_grad=True)
    assert gradcheck(Single.apply, (x,), check_grad_dtypes=True, check_forward_ad=True)
    assert gradgradcheck(fg.sin, (x,), check_grad_dtypes=True, check_fwd_over_rev=True)
