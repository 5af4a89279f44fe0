"""``torch.autograd.Function``."""

from __future__ import annotations

from typing import Any

import ferrograd as fg
import numpy as np
import pytest
from ferrograd import torch
from ferrograd.torch.autograd import Function

from tests.dialects import values


def leaf(*data: float) -> Any:
    return torch.tensor(list(data), requires_grad=True)


def made(forward: Any, backward: Any) -> type[Function]:
    """A custom function with these methods."""
    return type("S", (Function,), {"forward": staticmethod(forward), "backward": staticmethod(backward)})


def test_results_that_are_no_tensors_keep_their_position_in_backward() -> None:
    seen: list[Any] = []

    def forward(ctx: Any, a: Any, k: int, b: Any, text: str) -> Any:
        return 1, a + b * k, None, "x", a * b, [a], 2.5

    def backward(ctx: Any, *grads: Any) -> Any:
        seen.extend(grads)
        return grads[1], None, grads[1] * 2, None

    a, b = leaf(1.0), leaf(2.0)
    out = made(forward, backward).apply(a, 2, b, "t")
    assert len(out) == 7
    assert out[0] == 1
    assert out[3] == "x"
    assert out[6] == 2.5
    out[1].sum().backward()
    assert [type(g) is torch.Tensor for g in seen] == [False, True, False, False, True, False, False]
    assert seen[4].tolist() == [0.0], "zeros for an unused result"
    assert (a.grad.tolist(), b.grad.tolist()) == ([1.0], [2.0])


@pytest.mark.parametrize(
    ("result", "gist"),
    [
        (lambda g: g, r"function SBackward returned an incorrect number of gradients \(expected 2, got 1\)"),
        (lambda g: (g, g, g), r"function SBackward returned an incorrect number of gradients \(expected 2, got 3\)"),
        (lambda g: (1, g), r"expected Variable or None \(got int\)"),
        (
            lambda g: (torch.ones(10), g),
            r"returned an invalid gradient at index 0 - got \[10\] but expected shape compatible with \[5, 5\]",
        ),
        (lambda g: (g.sum(), g), "invalid gradient at index 0"),
    ],
)
def test_wrong_results_of_backward_are_refused(result: Any, gist: str) -> None:
    x, y = torch.ones(5, 5, requires_grad=True), torch.ones(5, 5, requires_grad=True)
    out = made(lambda ctx, a, b: a * b, lambda ctx, g: result(g)).apply(x, y)
    with pytest.raises(RuntimeError, match=gist):
        out.sum().backward()
    assert x.grad is None
    assert y.grad is None


def test_extra_gradients_may_be_none_and_broadcast_gradients_are_summed() -> None:
    x = torch.ones(5, 5, requires_grad=True)
    made(lambda ctx, a: a * 2, lambda ctx, g: (torch.ones(2, 5, 5), None, None)).apply(x).sum().backward()
    assert x.grad.tolist() == [[2.0] * 5] * 5
    with pytest.raises(RuntimeError, match="different than None at position 2"):
        made(lambda ctx, a, k: a * k, lambda ctx, g: (g, g)).apply(x, 3).sum().backward()


def test_missing_methods() -> None:
    class Nothing(Function):
        pass

    class Half(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

    with pytest.raises(NotImplementedError, match="must implement the forward"):
        Nothing.apply(leaf(1.0))
    with pytest.raises(NotImplementedError, match="backward or vjp"):
        Half.apply(leaf(1.0)).sum().backward()


def test_saved_tensors() -> None:
    class Keeps(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            y = x * 2
            inner = x + 1
            ctx.save_for_backward(x, None, y, inner)
            x.fill_(7.0)
            return y

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            x, nothing, y, inner = ctx.saved_tensors
            assert nothing is None
            assert inner.tolist() == [4.0]
            assert y.tolist() == [6.0]
            assert y.requires_grad
            return g * x

    x = leaf(3.0)
    y = Keeps.apply(x)
    y.backward(retain_graph=True)
    assert x.grad.tolist() == [3.0], "the saved value, not the one written later"
    y.backward()
    with pytest.raises(RuntimeError, match="second time"):
        y.backward()
    with pytest.raises(TypeError, match="can only save variables, but argument 1 is of type int"):
        made(lambda ctx, a: ctx.save_for_backward(a, 3), lambda ctx, g: g).apply(x)


@pytest.mark.parametrize("spelling", ["attribute", "saved", "input"])
def test_orders(spelling: str) -> None:
    class Exp(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            y = torch.exp(x)
            if spelling == "attribute":
                ctx.y = y
            elif spelling == "saved":
                ctx.save_for_backward(y)
            else:
                ctx.x = x
            return y

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            if spelling == "attribute":
                return g * ctx.y
            return g * (ctx.saved_tensors[0] if spelling == "saved" else torch.exp(ctx.x))

    x = leaf(0.5)
    y = Exp.apply(x)
    for _ in range(4):
        np.testing.assert_allclose(np.asarray(y), np.exp([0.5]), rtol=1e-6)
        (y,) = torch.autograd.grad(y, x, torch.ones(1), create_graph=True)


def test_a_forward_that_returns_its_input() -> None:
    same = made(lambda ctx, x: x, lambda ctx, g: g * 2)
    x = leaf(1.0)
    y = same.apply(x)
    assert y is not x
    assert x.is_leaf
    y.sum().backward()
    assert x.grad.tolist() == [2.0]
    z = x * 1
    same.apply(z).sum().backward()
    assert x.grad.tolist() == [4.0]

    def two(ctx: Any, x: Any) -> Any:
        y = x * 2
        return y, y

    a, b = made(two, lambda ctx, g, h: g + h).apply(x)
    assert a is b
    (a + b).sum().backward()
    assert x.grad.tolist() == [6.0]


def test_arguments_that_are_written_to() -> None:
    def forward(ctx: Any, x: Any) -> Any:
        ctx.mark_dirty(x)
        x.mul_(3)
        return x

    triple = made(forward, lambda ctx, g: g * 3)
    with pytest.raises(RuntimeError, match="leaf Variable that requires grad"):
        triple.apply(leaf(1.0))
    x = leaf(1.0)
    z = x * 1
    y = triple.apply(z)
    assert y is z
    assert z.tolist() == [3.0]
    (z * z).sum().backward()
    assert x.grad.tolist() == [18.0]

    def lost(ctx: Any, x: Any) -> Any:
        ctx.mark_dirty(x)
        return x * 2

    with pytest.raises(RuntimeError, match="must all be outputs"):
        made(lost, lambda ctx, g: g).apply(x * 1)


def test_setup_context_and_defaults() -> None:
    class Scale(Function):
        @staticmethod
        def forward(x: Any, k: float = 2.0) -> Any:
            return x * k

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            x, ctx.k = inputs
            ctx.save_for_backward(x, output)

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            _, y = ctx.saved_tensors
            assert ctx.needs_input_grad == (True, False)
            return g * y, None

    x = leaf(3.0)
    (dx,) = torch.autograd.grad(Scale.apply(x).sum(), x, create_graph=True)
    assert dx.tolist() == [6.0]
    assert torch.autograd.grad(dx, x)[0].tolist() == [6.0], "backward gives the derivative of y"
    assert torch.autograd.grad(Scale.apply(x, k=5.0).sum(), x)[0].tolist() == [15.0]
    with torch.no_grad():
        assert not Scale.apply(x).requires_grad
    assert not Scale.apply(x.detach()).requires_grad


def test_lists_are_constants_and_results_in_a_list_have_no_gradient() -> None:
    x = leaf(1.0)
    y = made(lambda ctx, xs: xs[0] * 2, lambda ctx, g: None).apply([x])
    assert not y.requires_grad
    assert not made(lambda ctx, x: [x * 2], lambda ctx, g: g).apply(x)[0].requires_grad


def test_native_functions_take_torch_tensors() -> None:
    class Twice(fg.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * 2

    y = Twice.apply(leaf(1.0))
    assert type(y) is torch.Tensor


def test_a_function_has_one_rule() -> None:
    class Both(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * 2

        @staticmethod
        def vjp(ctx: Any, g: Any) -> Any:
            return g * 2

    x = torch.tensor([1.0], requires_grad=True)
    with pytest.raises(RuntimeError, match="Implementing both 'backward' and 'vjp' for a custom Function"):
        Both.apply(x).backward()
    one: Any
    with pytest.warns(DeprecationWarning, match="should not be instantiated"):
        one = Both()
    with pytest.raises(RuntimeError, match="Legacy autograd function with non-static forward"):
        one(x)


def test_a_context_that_outlives_its_graph() -> None:
    kept: list[Any] = []

    class Same(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x.clone()

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            kept.append(ctx)
            return g

    y = Same.apply(torch.zeros(1, requires_grad=True))
    y.backward(retain_graph=True)
    del y
    with pytest.raises(RuntimeError, match="freed together with the graph"):
        _ = kept[0].saved_tensors


def test_saved_tensors_of_a_function_take_hooks_of_their_own() -> None:
    class Keeps(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any, y: Any) -> Any:
            ctx.save_for_backward(x, None, y)
            return x * y

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            x, _, y = ctx.saved_tensors
            return g * y, g * x

    x, y = (torch.full((2,), v, requires_grad=True) for v in (2.0, 3.0))
    z = Keeps.apply(x, y)
    first, nothing, last = z.grad_fn._raw_saved_tensors
    assert all(isinstance(raw, torch.autograd.SavedTensor) for raw in (first, nothing, last))
    last.register_hooks(lambda t: t * 10, lambda t: t)
    with pytest.raises(RuntimeError, match="hooks have already been set"):
        last.register_hooks(lambda t: t, lambda t: t)
    with pytest.raises(RuntimeError, match="value None is forbidden"):
        nothing.register_hooks(lambda t: t, lambda t: t)
    z.sum().backward()
    assert (values(x.grad), values(y.grad)) == ([30, 30], [2, 2])
    for name in ("_raw_saved_tensors", "saved_tensors"):
        with pytest.raises(RuntimeError, match="after they have already been freed"):
            getattr(z.grad_fn, name)


def test_tangents_read_only_what_was_saved_for_them() -> None:
    counts: list[int] = []

    class Same(torch.autograd.Function):
        @staticmethod
        def forward(x: Any) -> Any:
            return x.clone()

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            ctx.save_for_backward(inputs[0])

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            counts.append(len(ctx.saved_tensors))
            return g

        @staticmethod
        def jvp(ctx: Any, t: Any) -> Any:
            counts.append(len(ctx.saved_tensors))
            return t.clone()

    x = torch.ones(2, requires_grad=True)
    torch.func.jvp(Same.apply, (x,), (x,))
    Same.apply(x).sum().backward()
    assert counts == [0, 1]


def test_a_saved_result_that_is_a_view_keeps_its_place_in_the_graph() -> None:
    class Exp(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            y = x.exp().reshape(1, 2)
            ctx.save_for_backward(x, y)
            return y

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            x, y = ctx.saved_tensors
            assert y.requires_grad
            return (g * y).reshape(2) * x.cos() ** 2 + (g * y).reshape(2) * x.sin() ** 2

    def slope(x: Any) -> Any:
        return torch.autograd.grad(Exp.apply(x).sum(), x, create_graph=True)[0]

    for dtype in (torch.float64, torch.float32):
        x = torch.tensor([1.0, 2.0], dtype=dtype, requires_grad=True)
        (h,) = torch.autograd.grad(slope(x).sum(), x)
        np.testing.assert_allclose(h.numpy(), np.exp([1.0, 2.0]), rtol=1e-6)
    h = fg.func.hessian(lambda x: Exp.apply(x).sum())(torch.tensor([1.0, 2.0]))
    np.testing.assert_allclose(h.numpy(), np.diag(np.exp([1.0, 2.0])), rtol=1e-6, atol=1e-6)


def test_a_node_has_the_attributes_of_its_context() -> None:
    class Scaled(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.factor = 2
            return x * 2

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * ctx.factor

    x = torch.ones(1, requires_grad=True)
    y = Scaled.apply(x)
    y.grad_fn.factor, y.grad_fn.note = 5, "changed"
    assert (y.grad_fn.factor, y.grad_fn.note) == (5, "changed")
    y.backward()
    assert x.grad.item() == 5
    node: Any = x.sin().grad_fn
    with pytest.raises(AttributeError, match="'SinBackward0' object has no attribute 'note'"):
        node.note = 1


def test_results_that_are_not_differentiable_get_zeros_or_none() -> None:
    found: list[Any] = []

    class Two(Function):
        zeros = True

        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            y, other = x * 2, x * 3
            ctx.mark_non_differentiable(other)
            ctx._materialize_non_diff_grads = Two.zeros
            return y, other

        @staticmethod
        def backward(ctx: Any, g: Any, other: Any) -> Any:
            found.append(other)
            return g * 2

    x = torch.ones(2, requires_grad=True)
    for zeros in (True, False):
        Two.zeros = zeros
        y, other = Two.apply(x)
        assert not other.requires_grad
        assert values(torch.autograd.grad(y.sum(), x)[0]) == [2, 2]
    assert values(found[0]) == [0, 0]
    assert found[1] is None


def test_an_old_name_of_saved_tensors_warns() -> None:
    class Scaled(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            (x,) = ctx.saved_variables
            return 2 * x * g

    x = torch.ones(2, requires_grad=True)
    with pytest.warns(DeprecationWarning, match="'saved_variables' is deprecated; use 'saved_tensors'"):
        Scaled.apply(x).sum().backward()
    assert values(x.grad) == [2, 2]


def test_an_argument_of_a_subclass_that_is_returned_stays_one() -> None:
    class Named(torch.Tensor):
        pass

    class Same(Function):
        @staticmethod
        def forward(ctx: Any, x: Any, n: int) -> Any:
            return (x,) * n if n > 1 else x

        @staticmethod
        def backward(ctx: Any, *g: Any) -> Any:
            return sum(g) * 2, None

    x: Any = torch.ones(2).as_subclass(Named).requires_grad_()
    y = Same.apply(x, 1)
    assert type(y) is Named
    assert y is not x
    y.sum().backward()
    assert values(x.grad) == [2, 2]
    a, b = Same.apply(x, 2)
    assert (type(a), type(b)) == (Named, Named)
    x.grad = None
    (a + b).sum().backward()
    assert values(x.grad) == [4, 4]
    assert type(Same.apply(torch.ones(2, requires_grad=True), 1)) is torch.Tensor


@pytest.mark.parametrize("gives_one", [False, True])
def test_a_tangent_of_a_result_without_gradients_is_refused(gives_one: bool) -> None:
    class Both(Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            signs = x.sign()
            ctx.mark_non_differentiable(signs)
            return x * 2, signs

        @staticmethod
        def jvp(ctx: Any, t: Any) -> Any:
            return t * 2, t if gives_one else None

    forward_ad: Any = torch.autograd.forward_ad
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(torch.ones(2), torch.ones(2))
        if gives_one:
            with pytest.raises(RuntimeError, match=r"Both.jvp: result 1 is marked as not differentiable"):
                Both.apply(dual)
        else:
            y, signs = Both.apply(dual)
            assert values(forward_ad.unpack_dual(y).tangent) == [2.0, 2.0]
            assert forward_ad.unpack_dual(signs).tangent is None


@pytest.mark.parametrize("part", [lambda x: x[:2], lambda x: x[1:], lambda x: x[::2], lambda x: x.expand(2, 3)[0, 1:]])
def test_a_result_in_a_part_of_memory_can_be_written_to(part: Any) -> None:
    """The memory has other elements, too, which have no part in the gradient."""
    whole = torch.arange(3.0)
    inside = part(torch.arange(3))

    def forward(ctx: Any, x: Any) -> Any:
        out = part(whole).detach()
        return out.copy_(x * 2)

    f = made(forward, lambda ctx, g: g * 2)
    x = leaf(1.0, 2.0)
    y = f.apply(x)
    assert y.grad_fn.name() == "SBackward"
    y.mul_(3)
    assert values(y) == [6.0, 12.0]
    assert values(whole[inside]) == [6.0, 12.0]
    y[0] = y[1] * 5
    (g,) = torch.autograd.grad(y.sum(), x)
    assert values(g) == [0.0, 36.0]
    assert not whole.requires_grad


def test_an_expanded_result_can_be_written_to() -> None:
    f = made(lambda ctx, x: x.detach().expand(2, 2).detach(), lambda ctx, g: g.sum(0))
    x = leaf(1.0, 2.0)
    y = f.apply(x * 1)
    y[0] *= 3
    assert values(torch.autograd.grad(y.sum(), x)[0]) == [4.0, 4.0]
