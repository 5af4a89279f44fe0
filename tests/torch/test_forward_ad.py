"""``torch.autograd.forward_ad``: dual tensors and their tangents."""

from __future__ import annotations

import weakref
from typing import Any

import numpy as np
import pytest
from ferrograd import torch
from ferrograd.torch.autograd import forward_ad

from tests.dialects import values

fwd: Any = forward_ad

X = torch.tensor([0.5, 2.0], dtype=torch.float64)
V = torch.tensor([1.0, -1.0], dtype=torch.float64)


def test_tangents_of_what_is_computed() -> None:
    with fwd.dual_level():
        dual = fwd.make_dual(X, V)
        assert values(dual) == values(X)
        primal, tangent = fwd.unpack_dual(torch.sin(dual) * dual)
        assert not primal.requires_grad
        assert not tangent.requires_grad
        own = fwd.unpack_dual(dual)
        assert (values(own.primal), values(own.tangent)) == (values(X), values(V))
        assert fwd.unpack_dual(X * 2).tangent is None
    x, v = np.asarray(X), np.asarray(V)
    np.testing.assert_allclose(np.asarray(primal), np.sin(x) * x)
    np.testing.assert_allclose(np.asarray(tangent), (np.cos(x) * x + np.sin(x)) * v)


def test_writes_have_tangents_and_do_not_change_what_was_computed_before() -> None:
    x = X.clone()
    with fwd.dual_level():
        dual = fwd.make_dual(x, V)
        y = dual * 3
        dual[0] = 7.0
        y[1:].mul_(dual[1:])
        assert values(fwd.unpack_dual(dual).tangent) == [0.0, -1.0]
        assert values(fwd.unpack_dual(y).tangent) == [3.0, -12.0]
        assert values(x) == [7.0, 2.0]
        assert not x.requires_grad


def test_a_dual_has_the_memory_of_its_primal_unless_that_is_tracked() -> None:
    x, w = X.clone(), X.clone().requires_grad_()
    with fwd.dual_level():
        dual, tracked = fwd.make_dual(x, V), fwd.make_dual(w, V)
        x.mul_(2)
        tracked.mul_(2)
        assert values(dual) == values(X * 2)
        assert values(w) == values(X)
        assert fwd.unpack_dual(dual).tangent is V
        assert fwd.unpack_dual(dual).primal.data_ptr() == x.data_ptr()
        assert values(torch.autograd.grad(tracked.sum(), w)[0]) == [2.0, 2.0]


def test_a_level_inside_no_grad_has_tangents_without_a_graph() -> None:
    layer: Any = torch.nn.Linear(2, 1, dtype=torch.float64)
    with torch.no_grad():
        with fwd.dual_level():
            primal, tangent = fwd.unpack_dual(layer(fwd.make_dual(X, V)).sin())
        assert not torch.is_grad_enabled()
        outside = layer(X)
    assert not any(x.requires_grad for x in (primal, tangent, outside))
    assert values(tangent) == values(outside.cos() * (layer.weight @ V))
    assert torch.is_grad_enabled()


def test_a_dual_is_differentiable_by_its_primal() -> None:
    x, v = X.clone().requires_grad_(), V.clone().requires_grad_()
    with fwd.dual_level():
        primal, tangent = fwd.unpack_dual(fwd.make_dual(x, v))
        assert values(torch.autograd.grad(primal.sum(), x)[0]) == [1.0, 1.0]
        assert tangent is v


def test_tangents_live_as_long_as_what_is_computed_from_them() -> None:
    with fwd.dual_level():
        tangent = V.clone()
        held = weakref.ref(tangent)
        dual = fwd.make_dual(X, tangent)
        y = dual * 2
        del tangent, dual
        assert values(fwd.unpack_dual(y).tangent) == values(V * 2)
        del y
        assert held() is None


def test_several_duals() -> None:
    with fwd.dual_level():
        a, b = fwd.make_dual(X, V), fwd.make_dual(V, X)
        assert values(fwd.unpack_dual(a * b).tangent) == [1.25, 5.0]


def test_reverse_over_forward() -> None:
    x = X.clone().requires_grad_()
    with fwd.dual_level():
        y = fwd.make_dual(x, V) ** 3
        primal, tangent = fwd.unpack_dual(y)
        torch.autograd.backward(tangent.sum(), retain_graph=True)
        assert values(x.grad) == [6 * 0.5, -6 * 2.0]
        assert values(torch.autograd.grad(primal.sum(), x)[0]) == [0.75, 12.0]


def test_gradients_with_respect_to_the_tangent() -> None:
    v = V.clone().requires_grad_()
    with fwd.dual_level():
        tangent = fwd.unpack_dual(fwd.make_dual(X, v) ** 2).tangent
        assert values(torch.autograd.grad(tangent.sum(), v)[0]) == [1.0, 4.0]


def test_a_custom_rule() -> None:
    class Twice(torch.autograd.Function):
        @staticmethod
        def forward(x: Any) -> Any:
            return x * 2

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            pass

        @staticmethod
        def jvp(ctx: Any, t: Any) -> Any:
            return t * 20

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * 2

    with fwd.dual_level():
        assert values(fwd.unpack_dual(Twice.apply(fwd.make_dual(X, V))).tangent) == [20.0, -20.0]


def test_outside_of_a_level_there_are_no_tangents() -> None:
    with fwd.dual_level() as level:
        assert level == 0
        y = fwd.make_dual(X, V) * 2
        with pytest.raises(RuntimeError, match="Nested forward mode AD is not supported"):
            fwd.enter_dual_level()
    assert fwd.unpack_dual(y).tangent is None
    with pytest.raises(RuntimeError, match="no level exists"):
        fwd.make_dual(X, V)
    with pytest.raises(RuntimeError, match="not the last one"):
        fwd.exit_dual_level()

    @fwd.dual_level()
    def inside() -> Any:
        return fwd.unpack_dual(fwd.make_dual(X, V)).tangent

    assert values(inside()) == values(V)
    with torch.no_grad(), fwd.dual_level():
        assert values(fwd.unpack_dual(fwd.make_dual(X, V)).tangent) == values(V)


def test_arguments_that_are_not_duals() -> None:
    with fwd.dual_level():
        with pytest.raises(ValueError, match=r"Expected primal to be floating point or complex, but got: torch\.int64"):
            fwd.make_dual(torch.tensor([1]), V)
        with pytest.raises(ValueError, match="Expected tangent to be floating point"):
            fwd.make_dual(X, torch.tensor([1, 2]))
        with pytest.raises(RuntimeError, match="forward gradient that has a different size"):
            fwd.make_dual(X, V[:1])
        dual = fwd.make_dual(X, V.to(torch.float32))
        assert fwd.unpack_dual(dual).tangent.dtype == X.dtype
        with pytest.raises(TypeError, match="must be a Tensor"):
            fwd.make_dual(X, 1.0)


def test_a_jvp_may_delete_what_forward_left() -> None:
    class Exp(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.result, ctx.note = torch.exp(x), "kept"
            return ctx.result

        @staticmethod
        def jvp(ctx: Any, t: Any) -> Any:
            found = t * ctx.result
            del ctx.result, ctx.note
            return found

    x = torch.tensor([0.5, 1.0], dtype=torch.float64, requires_grad=True)
    with fwd.dual_level():
        y: Any = Exp.apply(fwd.make_dual(x, torch.ones(2, dtype=torch.float64)))
        for _ in range(2):
            assert torch.equal(fwd.unpack_dual(y).tangent, torch.exp(x).detach())
    options: Any = {"check_backward_ad": False, "check_undefined_grad": False, "check_batched_grad": False}
    assert torch.autograd.gradcheck(Exp.apply, (x,), check_forward_ad=True, **options)


def test_complex_duals() -> None:
    z, v = torch.tensor([1.0 + 2.0j, 0.5j]), torch.tensor([0.3 - 1.0j, 1.0 + 0.0j])
    with fwd.dual_level():
        dual = fwd.make_dual(z, v)
        assert torch.allclose(fwd.unpack_dual(dual * dual).tangent, 2 * z * v)
        assert torch.allclose(fwd.unpack_dual(dual * dual.conj()).tangent.real, 2 * (z.conj() * v).real)
        with pytest.raises(ValueError, match=r"to be floating point or complex, but got: torch\.int64"):
            fwd.make_dual(torch.ones(2, dtype=torch.int64), torch.ones(2))


def test_a_tangent_has_no_tangent_of_its_own() -> None:
    with fwd.dual_level():
        dual = fwd.make_dual(X, V)
        with pytest.raises(RuntimeError, match="has a forward gradient at the same level"):
            fwd.make_dual(X, dual * 2)
        assert values(fwd.unpack_dual(fwd.make_dual(X, (dual * 2).detach())).tangent) == values(X * 2)


def _function(of_forward: Any, of_jvp: Any, note: Any = lambda ctx, x, y: None) -> Any:
    """A custom function with a rule of tangents."""

    class Custom(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            y = of_forward(x)
            note(ctx, x, y)
            return y

        @staticmethod
        def jvp(ctx: Any, t: Any) -> Any:
            return of_jvp(t)

    return Custom.apply


@pytest.mark.parametrize(
    ("of_forward", "of_jvp", "message"),
    [
        (lambda x: x * 2, lambda t: (t, t), "invalid number of forward gradients"),
        (lambda x: (x * 2, x * 3), lambda t: t, "invalid number of forward gradients"),
        (lambda x: x * 2, lambda t: t[:1], "different size"),
        (lambda x: x * 2, lambda t: 1, "expected Variable or None"),
        (lambda x: x[:1], lambda t: t[:1] * 1, "not returning a view"),
        (lambda x: x[:1], lambda t: t.clone()[:1], "not returning a view of the given"),
        (lambda x: x, lambda t: t, "not returning a view"),
    ],
)
def test_a_rule_that_gives_other_tangents_raises_where_the_function_is_called(
    of_forward: Any, of_jvp: Any, message: str
) -> None:
    f = _function(of_forward, of_jvp)
    with fwd.dual_level():
        f(X.clone().requires_grad_())
        for dual in (fwd.make_dual(X, V), fwd.make_dual(X.clone().requires_grad_(), V) * 2):
            with pytest.raises(RuntimeError, match=message):
                f(dual)


def test_gradcheck_finds_a_rule_that_gives_no_view() -> None:
    f = _function(lambda x: x[:1], lambda t: t.clone()[:1])
    options: Any = {"check_backward_ad": False, "check_batched_grad": False, "check_undefined_grad": False}
    x = X.clone().requires_grad_()
    for call, message in ((f, "of the given"), (lambda x: f(x.view_as(x)), "of the same base")):
        with pytest.raises(RuntimeError, match=f"not returning a view {message}"):
            torch.autograd.gradcheck(call, (x,), check_forward_ad=True, **options)


def test_a_rule_of_what_is_written_to_writes_to_its_tangent() -> None:
    def note(ctx: Any, x: Any, y: Any) -> None:
        ctx.mark_dirty(x)

    with fwd.dual_level():
        dual = fwd.make_dual(X.clone(), V)
        _function(lambda x: x.mul_(2), lambda t: t.mul_(2), note)(dual)
        for _ in range(2):
            assert values(fwd.unpack_dual(dual).tangent) == values(V * 2)
        for rule in (lambda t: t * 2, lambda t: t):
            with pytest.raises(RuntimeError, match="not modifying the forward mode gradients inplace"):
                _function(lambda x: x.mul_(2), rule, note)(fwd.make_dual(X.clone(), V))


def test_a_result_that_is_not_differentiable_has_no_tangent() -> None:
    def note(ctx: Any, x: Any, y: Any) -> None:
        ctx.mark_non_differentiable(y[1])

    with fwd.dual_level():
        dual = fwd.make_dual(X, V)
        with pytest.raises(RuntimeError, match="return None at that position"):
            _function(lambda x: (x * 2, x * 3), lambda t: (t, t * 2), note)(dual)
        y, other = _function(lambda x: (x * 2, x * 3), lambda t: (t * 2, None), note)(dual)
        assert values(fwd.unpack_dual(y).tangent) == values(V * 2)
        assert fwd.unpack_dual(other).tangent is None


def test_views_of_custom_functions_have_views_as_tangents() -> None:
    with fwd.dual_level():
        dual = fwd.make_dual(X, V) * 2
        assert values(fwd.unpack_dual(_function(lambda x: x[:1], lambda t: t[:1])(dual)).tangent) == [2.0]
        assert values(fwd.unpack_dual(_function(lambda x: x, lambda t: t.view_as(t))(dual)).tangent) == [2.0, -2.0]


def test_arguments_without_tangents_get_zeros_or_none() -> None:
    seen: list[Any] = []

    class Product(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any, n: int, y: Any) -> Any:
            ctx.set_materialize_grads(n == 2)
            return x * y

        @staticmethod
        def jvp(ctx: Any, *tangents: Any) -> Any:
            seen.append(tangents)
            return tangents[0]

    with fwd.dual_level():
        dual = fwd.make_dual(X, V)
        Product.apply(dual, 2, X.clone().requires_grad_())
        Product.apply(dual, 3, X)
    assert [[t is None for t in tangents] for tangents in seen] == [[False, True, False], [False, True, True]]


def test_duals_are_shown_with_their_tangents() -> None:
    x = torch.tensor([1.0, 2.0])
    with fwd.dual_level():
        dual = fwd.make_dual(x, torch.tensor([1.0, 0.0]))
        assert repr(dual) == "tensor([1., 2.], tangent=tensor([1., 0.]))"
        assert str(fwd.make_dual(torch.tensor(1.0), torch.tensor(0.0))) == "tensor(1., tangent=0.0)"
        leaf = x.clone().requires_grad_()
        tracked = fwd.make_dual(leaf, torch.tensor([1.0, 0.0])) * 2
        assert repr(tracked).startswith("tensor([2., 4.], grad_fn=<MulBackward0>,")
        assert "tangent=tensor([2., 0.]" in repr(tracked)
        assert repr(x) == "tensor([1., 2.])"
        assert "tangent" not in repr(fwd.unpack_dual(dual).primal)
        tracked.sum().backward()
        assert repr(tracked).startswith("tensor([2., 4.], grad_fn=<")
        assert repr(torch.nn.Parameter(x)) == "Parameter containing:\ntensor([1., 2.], requires_grad=True)"
    assert "tangent" not in repr(dual)


def test_forward_mode_can_be_switched_off_outside_of_a_level() -> None:
    assert fwd._is_fwd_grad_enabled()
    with fwd._set_fwd_grad_enabled(False):
        assert not fwd._is_fwd_grad_enabled()
        x = X.clone().requires_grad_()
        with fwd.dual_level():
            y = fwd.make_dual(x, V) * 2
            assert fwd.unpack_dual(y).tangent is None
            assert values(torch.autograd.grad(y.sum(), x)[0]) == [2.0, 2.0]
            with pytest.raises(RuntimeError, match="cannot be switched inside a level"):
                fwd._set_fwd_grad_enabled(True)
    assert fwd._is_fwd_grad_enabled()
    with fwd.dual_level(), fwd._set_fwd_grad_enabled(True):
        assert values(fwd.unpack_dual(fwd.make_dual(X, V)).tangent) == values(V)
        with pytest.raises(RuntimeError, match="cannot be switched inside a level"):
            fwd._set_fwd_grad_enabled(False)


def test_a_step_of_a_dual_tensor_has_a_tangent_of_zeros() -> None:
    with fwd.dual_level():
        x = fwd.make_dual(torch.tensor([0.3, -0.7]), torch.ones(2))
        for step in (torch.floor, torch.sign, torch.round):
            assert fwd.unpack_dual(step(x)).tangent.tolist() == [0.0, 0.0]
        assert fwd.unpack_dual(x.detach()).tangent is None
        assert fwd.unpack_dual(x > 0).tangent is None
        assert fwd.unpack_dual(torch.ones(2)).tangent is None


def moved(f: Any, *more: Any) -> list[Any]:
    """The value and the tangent of ``f`` at a dual tensor; the tangent is None if there is none."""
    with fwd.dual_level():
        primal, tangent = fwd.unpack_dual(f(fwd.make_dual(X.clone(), V), *more))
    return [values(primal), None if tangent is None else values(tangent)]


def unrecorded(f: Any) -> Any:
    def called(x: Any) -> Any:
        with torch.no_grad():
            return f(x)

    return called


def written(x: Any) -> Any:
    y = x.clone()
    y.mul_(x).add_(1)
    y[0] = x[1] * 3
    y[1:].copy_(x[:1] * y[1:])
    return y


def overwritten(x: Any) -> Any:
    y = x * x
    y.fill_(2.0)
    return y


@pytest.mark.parametrize(
    "f",
    [
        lambda x: x * x.sin(),
        written,
        overwritten,
        lambda x: x.view(2, 1).t() * 2,
        lambda x: torch.cat([x, x]).cumsum(0),
    ],
)
def test_tangents_pass_through_no_grad(f: Any) -> None:
    assert moved(f)[1] is not None
    assert moved(unrecorded(f)) == moved(f)
    value, tangent = torch.func.jvp(f, (X,), (V,))
    assert [values(value), values(tangent)] == moved(f)
    of_unrecorded = torch.func.jvp(unrecorded(f), (X,), (V,))
    assert [values(x) for x in of_unrecorded] == [values(value), values(tangent)]
    assert values(torch.func.jacfwd(unrecorded(f))(X)) == values(torch.func.jacfwd(f)(X))
    batched = torch.func.vmap(lambda v: torch.func.jvp(unrecorded(f), (X,), (v,))[1])(torch.stack([V, V]))
    assert values(batched[1]) == values(tangent)
    twice = torch.func.jvp(lambda x: torch.func.jvp(unrecorded(f), (x,), (V,))[1], (X,), (V,))[1]
    assert values(twice) == values(torch.func.jvp(lambda x: torch.func.jvp(f, (x,), (V,))[1], (X,), (V,))[1])
    with torch.no_grad():
        assert moved(f) == moved(unrecorded(f))


def test_gradients_do_not_pass_through_no_grad_in_a_level() -> None:
    w = X.clone().requires_grad_()

    def f(x: Any) -> Any:
        with torch.no_grad():
            y = x * w
        return y * x

    with fwd.dual_level():
        x = X.clone().requires_grad_()
        dual = fwd.make_dual(x, V)
        primal, tangent = fwd.unpack_dual(f(dual))
        assert values(torch.autograd.grad(primal.sum(), x, retain_graph=True)[0]) == values(X * X)
        assert torch.autograd.grad(primal.sum(), w, allow_unused=True, retain_graph=True) == (None,)
        assert values(tangent) == values(2 * X * X * V)
        with torch.no_grad():
            inside = fwd.unpack_dual(dual * w)
        assert not inside.primal.requires_grad
        assert not inside.tangent.requires_grad
    assert values(torch.func.grad(lambda x: f(x).sum())(X)) == values(X * X)


def test_a_write_under_no_grad_moves_the_tangent_and_keeps_the_gradient() -> None:
    with fwd.dual_level():
        x = X.clone().requires_grad_()
        y = fwd.make_dual(x, V) * 1
        with torch.no_grad():
            y.mul_(3)
            y[0] = 7.0
        primal, tangent = fwd.unpack_dual(y)
        assert values(primal) == [7.0, values(X)[1] * 3]
        assert values(tangent) == [0.0, values(V)[1] * 3]
        assert values(torch.autograd.grad(primal.sum(), x)[0]) == [1.0, 1.0]
        base = torch.zeros(2, 2, dtype=X.dtype)
        with torch.no_grad():
            base[0].copy_(fwd.make_dual(X, V))
        assert values(fwd.unpack_dual(base).tangent) == [values(V), [0.0, 0.0]]
        w = X.clone().requires_grad_()
        with torch.no_grad(), pytest.raises(RuntimeError, match="cannot take a value that has a tangent"):
            w.sub_(fwd.make_dual(X, V))
        with torch.no_grad():
            w.sub_(X)
            w[0] = 1.0
        assert w.is_leaf


def test_what_stops_tangents() -> None:
    assert moved(lambda x: x.detach() * 2)[1] is None
    assert moved(lambda x: x.data * 2)[1] is None
    assert moved(unrecorded(lambda x: torch.ones_like(x)))[1] is None

    class Forward(torch.autograd.Function):
        @staticmethod
        def forward(x: Any) -> Any:
            return x * x

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            ctx.save_for_forward(*inputs)

        @staticmethod
        def jvp(ctx: Any, t: Any) -> Any:
            return t * 100

    assert moved(Forward.apply)[1] == moved(unrecorded(Forward.apply))[1] == values(V * 100)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: torch.bernoulli(x.sigmoid()),
        lambda x: x.sigmoid().bernoulli(),
        lambda x: torch.poisson(x.exp()),
        lambda x: torch.normal(x, 1.0),
        lambda x: torch.normal(0.0, x.exp()),
        lambda x: torch.normal(x, x.exp()),
        lambda x: x.clone().normal_(),
        lambda x: torch.zeros_like(x).bernoulli_(x.sigmoid()),
        lambda x: x.sign(),
    ],
)
def test_tangents_and_gradients_of_draws_and_steps_are_zero(f: Any) -> None:
    assert moved(f)[1] == moved(unrecorded(f))[1] == [0.0, 0.0]
    assert values(torch.func.jvp(f, (X,), (V,))[1]) == [0.0, 0.0]
    x = X.clone().requires_grad_()
    assert values(torch.autograd.grad(f(x).sum(), x)[0]) == [0.0, 0.0]
    assert not f(X).requires_grad
    with torch.no_grad():
        assert not f(x).requires_grad


def test_a_function_without_any_rule_is_refused_at_its_call() -> None:
    class Bare(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x.clone()

    with fwd.dual_level(), pytest.raises(RuntimeError, match="must implement the jvp function"):
        Bare.apply(fwd.make_dual(X, V))
    assert values(Bare.apply(X.clone().requires_grad_())) == values(X)


def test_gradients_in_a_level_have_tangents_and_free_nothing() -> None:
    x = X.clone().requires_grad_()
    with fwd.dual_level():
        dual = fwd.make_dual(x, V)
        y = (dual**3).sum()
        for wrt in (x, dual):
            (g,) = torch.autograd.grad(y, wrt)
            primal, tangent = fwd.unpack_dual(g)
            torch.testing.assert_close(primal.detach(), 3 * X**2)
            torch.testing.assert_close(tangent.detach(), 6 * X * V)
            assert "tangent=" in repr(g)
        y.backward()
        torch.testing.assert_close(x.grad, 3 * X**2)
        torch.testing.assert_close(fwd.unpack_dual(y).tangent.detach(), (3 * X**2 * V).sum())
        with torch.no_grad():
            (g,) = torch.autograd.grad(y, x)
            torch.testing.assert_close(fwd.unpack_dual(g).tangent, 6 * X * V)
    z = (x**3).sum()
    z.backward()
    with pytest.raises(RuntimeError, match="a second time"):
        z.backward()


def test_a_dual_tensor_of_a_part_of_memory_is_written_to() -> None:
    whole = torch.ones(3)
    with fwd.dual_level():
        dual = fwd.make_dual(whole[:2], torch.tensor([1.0, 2.0]))
        dual.mul_(3)
        assert values(fwd.unpack_dual(dual).tangent) == [3.0, 6.0]
        assert values(fwd.unpack_dual(dual.sum()).tangent) == 9.0
    assert values(whole) == [3.0, 3.0, 1.0]
