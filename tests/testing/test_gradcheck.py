"""``gradcheck`` and ``gradgradcheck``, in the native namespace and in torch."""

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
def test_wrong_derivatives_are_named(fast_mode: bool) -> None:
    x = leaf(1, 3)
    with pytest.raises(GradcheckError, match="Jacobian mismatch for output 0 with respect to input 0,\n") as caught:
        gradcheck(wrong, (x,), fast_mode=fast_mode)
    assert "output element (0, 1) by input element (0, 1)" in str(caught.value)
    with pytest.raises(GradcheckError, match="computed with forward mode mismatch"):
        gradcheck(wrong, (x,), check_forward_ad=True, check_backward_ad=False, fast_mode=fast_mode)
    assert not gradcheck(wrong, (x,), raise_exception=False, fast_mode=fast_mode)
    assert isinstance(caught.value, RuntimeError)


def test_untracked_inputs_are_ignored() -> None:
    assert gradcheck(lambda x, y, n: (x * y) ** n, (leaf(2), sample(2, seed=1), 2))


def test_untracked_outputs() -> None:
    assert gradcheck(lambda x: (x * x, fg.ones(3)), leaf(2))
    assert gradcheck(lambda x: fg.ones(3), leaf(2))
    with pytest.raises(GradcheckError, match="expected to be zero"):
        gradcheck(lambda x: x.detach() * 2, leaf(2))


def test_randomness_is_found() -> None:
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


def test_wrong_arguments_raise() -> None:
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
    """The report distinguishes a matrix from its transpose."""
    a = np.arange(6.0).reshape(2, 3)

    def f(x: Any) -> Any:
        m = fg.tensor(a)
        return m @ x + (fg.tensor([[0.0, 0, 5], [0, 0, 0]], dtype="float64") @ x).detach()

    with pytest.raises(GradcheckError, match=r"output element \(0,\) by input element \(2,\) is 2 analytically, 7"):
        gradcheck(f, leaf(3))


def test_dtypes_of_gradients() -> None:
    """A gradient of another dtype is cast, so the check of the dtype passes."""

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


class Doubled(fg.Function):
    """A function whose rules fail on request."""

    @staticmethod
    def forward(ctx: Any, x: Any, forward_fails: bool, backward_fails: bool) -> Any:
        ctx.fails = forward_fails, backward_fails
        return x * 2

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        if ctx.fails[1]:
            raise RuntimeError("backward fails")
        return g * 2, None, None

    @staticmethod
    def jvp(ctx: Any, t: Any, *_: Any) -> Any:
        if ctx.fails[0]:
            raise RuntimeError("forward fails")
        return t * 2


@pytest.mark.parametrize("fast_mode", [False, True])
@pytest.mark.parametrize("fails", [(False, False), (True, False), (False, True), (True, True)], ids=str)
@pytest.mark.parametrize("modes", [(True, False), (False, True), (True, True)], ids=str)
def test_only_the_modes_that_are_asked_for_run(
    modes: tuple[bool, bool], fails: tuple[bool, bool], fast_mode: bool
) -> None:
    """If both modes fail, the error of reverse mode is raised."""
    forward, backward = modes
    text = "backward fails" if fails[1] and backward else "forward fails" if fails[0] and forward else ""

    def run() -> bool:
        return gradcheck(
            Doubled.apply,
            (leaf(2), *fails),
            check_forward_ad=forward,
            check_backward_ad=backward,
            check_batched_grad=backward,
            fast_mode=fast_mode,
        )

    if not text:
        assert run()
        return
    with pytest.raises(RuntimeError, match=text):
        run()


class Jittered(fg.Function):
    """The identity with a gradient that changes from call to call."""

    @staticmethod
    def forward(ctx: Any, x: Any, jitter: float) -> Any:
        ctx.jitter = jitter
        return x * 1

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return Jittered.apply(g, ctx.jitter) * (fg.rand(g.shape, dtype="float64") * ctx.jitter + 1.0), None


@pytest.mark.parametrize("fast_mode", [False, True])
def test_gradients_that_change_from_call_to_call(fast_mode: bool) -> None:
    x = leaf(3, 3)
    assert gradcheck(lambda x: Jittered.apply(x, 0.0), x, fast_mode=fast_mode)
    with pytest.raises(GradcheckError, match="Backward is not reentrant"):
        gradcheck(lambda x: Jittered.apply(x, 1e-6), x, fast_mode=fast_mode)
    assert gradcheck(lambda x: Jittered.apply(x, 1e-6), x, nondet_tol=1e-5, fast_mode=fast_mode)
    with pytest.raises(GradcheckError, match="Backward is not reentrant"):
        gradgradcheck(lambda x: Jittered.apply(x, 1e-12), x, fast_mode=fast_mode)
    assert not gradgradcheck(lambda x: Jittered.apply(x, 1e-12), x, raise_exception=False, fast_mode=fast_mode)
    assert gradgradcheck(lambda x: Jittered.apply(x, 1e-12), x, nondet_tol=1e-5, fast_mode=fast_mode)


def test_a_missing_tangent_counts_as_zero() -> None:
    """A ``jvp`` that takes None for something else gives other tangents than one of zeros does."""

    class Sum(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any, y: Any) -> Any:
            ctx.set_materialize_grads(False)
            return x + y

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g, g

        @staticmethod
        def jvp(ctx: Any, s: Any, t: Any) -> Any:
            return s + t if s is not None and t is not None else 2 * (t if s is None else s)

    x, y = (torch.tensor(sample(2, seed=seed).numpy(), requires_grad=True) for seed in (0, 1))
    with pytest.raises(GradcheckError, match="when input: 0 has an undefined tangent value"):
        gradcheck(Sum.apply, (x, y), check_forward_ad=True)
    assert gradcheck(Sum.apply, (x, y), check_forward_ad=True, check_undefined_grad=False)


def test_elements_of_torch_inputs_do_not_overlap() -> None:
    x = torch.ones(1, dtype=torch.float64, requires_grad=True)
    with pytest.raises(RuntimeError, match="The 1th input has a dimension with stride 0"):
        gradcheck(lambda x, y: x * y, (x, x.expand(2)), raise_exception=False)
    assert gradcheck(lambda x, y: x * y, (x, x.expand(1)))


@pytest.mark.parametrize("fast_mode", [False, True])
def test_outputs_that_change_their_shape_or_dtype(fast_mode: bool) -> None:
    x = fg.tensor([1.0], dtype="float64", requires_grad=True)
    kinds: dict[str, Any] = {
        "same shape when inputs are perturbed": lambda x: fg.concat([x, x]) if float(x) >= 1 else x,
        "same dtype when inputs are perturbed": lambda x: x.astype("float32") if float(x) >= 1 else x,
    }
    for text, f in kinds.items():
        with pytest.raises(AssertionError, match=text):
            gradcheck(f, x, fast_mode=fast_mode)


def test_torch_has_the_jacobians_too() -> None:
    from ferrograd.torch.autograd.gradcheck import get_analytical_jacobian, get_numerical_jacobian

    a, b = (torch.rand(2, 2, dtype=torch.float64, requires_grad=True) for _ in range(2))

    def f(inputs: Any) -> Any:
        x, y = inputs
        return 2 * x + y, x * y

    wanted = [2 * np.eye(4), np.eye(4)]
    with pytest.warns(UserWarning, match="get_analytical_jacobian was part of PyTorch's private API"):
        found, same_twice, sizes, types = get_analytical_jacobian((a, b), f((a, b))[0])
    np.testing.assert_array_equal([m.numpy() for m in found], wanted)
    assert (same_twice, sizes, types) == (True, True, True)
    jittered = Jittered.apply(a, 1e-6)
    with pytest.warns(UserWarning, match="private API"):
        assert get_analytical_jacobian((a,), jittered)[1] is False
    with pytest.warns(UserWarning, match="get_numerical_jacobian was part of PyTorch's private API"):
        found = get_numerical_jacobian(f, (a, b))
    np.testing.assert_allclose([m.numpy() for m in found], wanted, atol=1e-8)
    before = a.tolist()
    with pytest.warns(UserWarning, match="private API"):
        [only] = get_numerical_jacobian(lambda inputs: f(inputs)[1], (a, b), target=a, eps=1e-6)
    np.testing.assert_allclose(only.numpy(), np.diag(b.detach().numpy().ravel()), atol=1e-8)
    assert a.tolist() == before
    for call in (
        lambda: get_analytical_jacobian((a,), f((a, b))[0], grad_out=2.0),
        lambda: get_numerical_jacobian(f, (a, b), grad_out=2.0),
    ):
        with pytest.warns(UserWarning, match="private API"), pytest.raises(ValueError, match=r"grad_out to be 1\.0"):
            call()


def test_complex_numbers_are_checked_by_their_parts() -> None:
    z = fg.tensor([0.5 + 1j, -0.3 + 0.2j], dtype=fg.complex128, requires_grad=True)
    wrong: list[Any] = [lambda z: fg.complex(z.real, z.imag.detach()), lambda z: fg.complex(z.real.detach(), z.imag)]
    for f, part in zip(wrong, ("imaginary", "real"), strict=True):
        with pytest.raises(GradcheckError, match=f"^While considering the {part} part of complex outputs only, Jac"):
            gradcheck(f, (z,))
    x = fg.tensor([0.4, 0.7], dtype=fg.float64, requires_grad=True)
    functions: list[Any] = [
        lambda z, x: fg.exp(z * x),
        lambda z, x: fg.abs(z) * x,
        lambda z, x: fg.conj(z) / x,
        lambda z, x: fg.complex(x, fg.real(z) * x),
    ]
    for f in functions:
        assert gradcheck(f, (z, x), check_forward_ad=True, check_batched_grad=True)
        assert gradcheck(f, (z, x), fast_mode=True)
        assert gradgradcheck(f, (z, x), check_fwd_over_rev=True)
        fg.testing.check(f, (z, x), order=3)
    assert gradgradcheck(fg.square, (z,), (fg.tensor([1 + 1j, 2], dtype=fg.complex128, requires_grad=True),))

    class Conjugated(fg.Function):
        """The derivative of a square without the conjugate."""

        @staticmethod
        def forward(ctx: Any, z: Any) -> Any:
            ctx.save_for_backward(z)
            return z * z

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            (z,) = ctx.saved_tensors
            return g * 2 * z

    assert not gradcheck(Conjugated.apply, (z,), raise_exception=False)


def test_parameters_are_parameters_in_every_call() -> None:
    def f(w: Any, x: Any) -> Any:
        assert type(w) is torch.nn.Parameter
        assert type(x) is torch.Tensor
        return w * w * x

    w = torch.nn.Parameter(torch.tensor([1.0, 2.0], dtype=torch.float64))
    x = torch.tensor([3.0, 4.0], dtype=torch.float64, requires_grad=True)
    assert gradcheck(f, (w, x), check_forward_ad=True, check_batched_grad=True)
    assert gradgradcheck(f, (w, x))
    assert w.tolist() == [1.0, 2.0]


def test_a_tangent_rule_that_draws_is_no_batched_rule() -> None:
    class Noisy(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * 2

        @staticmethod
        def jvp(ctx: Any, t: Any) -> Any:
            return t * 2 + torch.rand_like(t) * 0

    x = torch.rand(2, dtype=torch.float64, requires_grad=True)
    assert gradcheck(Noisy.apply, (x,), check_forward_ad=True)
    with pytest.raises(GradcheckError, match="called random operation while in randomness error mode"):
        gradcheck(Noisy.apply, (x,), check_forward_ad=True, check_batched_forward_grad=True)
