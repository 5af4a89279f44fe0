"""Custom functions under ``vmap`` and in batched backward passes."""

from __future__ import annotations

from typing import Any

import ferrograd as fg
import ferrograd.paddle as paddle
import ferrograd.torch as torch
import numpy as np
import pytest
from ferrograd import func

from tests.native.functions import Cube, leaf


class NumpySine(fg.Function):
    """A function computed by NumPy, which knows nothing of ``vmap``."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return fg.tensor(np.sin(x.detach().numpy()))

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        (x,) = ctx.saved_tensors
        return fg.tensor(g.detach().numpy() * np.cos(x.detach().numpy()))


def test_under_vmap() -> None:
    x = leaf([1.0, 2.0, 3.0])
    assert func.vmap(Cube.apply)(x).tolist() == [1.0, 8.0, 27.0]
    each = func.vmap(lambda x: fg.grad(Cube.apply(x), x))
    assert each(x).tolist() == [3.0, 12.0, 27.0]
    assert fg.grad(func.vmap(Cube.apply)(x).sum(), x).tolist() == [3.0, 12.0, 27.0]
    two = func.vmap(lambda x, y: fg.sin(Cube.apply(x * y) / (x * y) ** 2), in_axes=(0, None))
    y = leaf(0.5)
    dx, dy = fg.grad(two(x, y).sum(), (x, y), create_graph=True)
    np.testing.assert_allclose(dx.tolist(), 0.5 * np.cos([0.5, 1.0, 1.5]))
    np.testing.assert_allclose(dy.item(), (np.cos([0.5, 1.0, 1.5]) * [1, 2, 3]).sum())
    np.testing.assert_allclose(fg.grad(dy, y).item(), -(np.sin([0.5, 1.0, 1.5]) * [1, 4, 9]).sum())


def test_a_custom_vmap() -> None:
    seen: list[Any] = []

    class Scaled(fg.Function):
        @staticmethod
        def forward(ctx: Any, x: Any, y: Any, k: float) -> Any:
            ctx.save_for_backward(x, y)
            ctx.k = k
            return x * y * k, x + y

        @staticmethod
        def backward(ctx: Any, g: Any, h: Any) -> Any:
            x, y = ctx.saved_tensors
            return g * y * ctx.k + h, g * x * ctx.k + h, None

        @staticmethod
        def vmap(info: Any, in_dims: Any, x: Any, y: Any, k: float) -> Any:
            seen.append((info.batch_size, in_dims, tuple(x.shape), tuple(y.shape)))
            return Scaled.apply(x, y, k), (0, 0)

    x, y = leaf([1.0, 2.0, 3.0]), leaf(10.0)
    a, b = func.vmap(lambda x, y: Scaled.apply(x, y, 2.0), in_axes=(0, None))(x, y)
    assert seen == [(3, (0, None, None), (3,), ())]
    assert a.tolist() == [20.0, 40.0, 60.0]
    dx, dy = fg.grad(a.sum() + b.sum(), [x, y])
    assert (dx.tolist(), dy.item()) == ([21.0] * 3, 15.0)
    seen.clear()
    rows = leaf([[1.0, 2.0], [3.0, 4.0]])
    two = func.vmap(func.vmap(lambda x: Scaled.apply(x, y, 1.0)[0]))(rows)
    assert two.tolist() == [[10.0, 20.0], [30.0, 40.0]]
    assert [s[0] for s in seen] == [2, 2]
    seen.clear()
    assert func.vmap(lambda x: Scaled.apply(x, y, 1.0)[0])(fg.ones([0])).shape == (0,)
    assert [s[0] for s in seen] == [0]


def test_a_forward_that_reads_values_runs_once_per_sample() -> None:
    class Slope(fg.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.slope = 2.0 if x.item() > 0 else 0.5
            return x * ctx.slope, "kind"

        @staticmethod
        def backward(ctx: Any, g: Any, nothing: None) -> Any:
            return g * ctx.slope

    x = leaf([-1.0, 1.0, 2.0])
    y = func.vmap(lambda x: Slope.apply(x)[0] * x)(x)
    assert y.tolist() == [0.5, 2.0, 8.0]
    assert fg.grad(y.sum(), x).tolist() == [-1.0, 4.0, 8.0]
    assert func.vmap(lambda x: fg.grad(Slope.apply(x)[0], x))(x).tolist() == [0.5, 2.0, 2.0]
    rows = leaf([[-1.0, 1.0], [2.0, -2.0]])
    assert func.vmap(func.vmap(lambda x: Slope.apply(x)[0]))(rows).tolist() == [[-0.5, 2.0], [4.0, -1.0]]


def test_rules_in_numpy() -> None:
    x = leaf([0.5, -1.0, 2.0])
    slopes = np.cos([0.5, -1.0, 2.0])
    inner = func.vmap(lambda x: fg.grad(NumpySine.apply(x), x))(x)
    np.testing.assert_allclose(inner.tolist(), slopes)
    outer = fg.grad(func.vmap(NumpySine.apply)(x).sum(), x)
    np.testing.assert_allclose(outer.tolist(), slopes)
    y = NumpySine.apply(x)
    batch = fg.grad(y, x, fg.eye(3, dtype=fg.float64), is_grads_batched=True)
    np.testing.assert_allclose(batch.tolist(), np.diag(slopes))
    np.testing.assert_allclose(func.jacrev(NumpySine.apply)(x).tolist(), np.diag(slopes))
    rows = func.vmap(func.jacrev(NumpySine.apply))(leaf([[0.5, -1.0], [2.0, 0.0]]))
    np.testing.assert_allclose(rows.tolist(), [np.diag(np.cos(r)) for r in ([0.5, -1.0], [2.0, 0.0])])


def test_batched_passes_through_recorded_rules() -> None:
    x = leaf([1.0, 2.0, 3.0])
    batch = fg.grad(Cube.apply(x), x, fg.eye(3, dtype=fg.float64), is_grads_batched=True, create_graph=True)
    assert batch.tolist() == np.diag([3.0, 12.0, 27.0]).tolist()
    assert fg.grad(batch.sum(), x).tolist() == [6.0, 12.0, 18.0]
    assert func.jacrev(Cube.apply)(x).tolist() == func.jacfwd(Cube.apply)(x).tolist() == batch.tolist()
    assert func.hessian(lambda x: Cube.apply(x).sum())(x).tolist() == np.diag([6.0, 12.0, 18.0]).tolist()


def test_derivatives_of_a_backward_that_nothing_records_are_refused() -> None:
    """They would silently be zero."""
    x, t = leaf([0.5, -1.0]), fg.ones((2,), dtype=fg.float64)
    text = r"NumpySine: its backward is not written in functions that are recorded"
    slope = fg.grad(NumpySine.apply(x).sum(), x, create_graph=True)
    np.testing.assert_allclose(slope.tolist(), np.cos([0.5, -1.0]))
    for derivative in (
        lambda: fg.grad(slope.sum(), x),
        lambda: func.jvp(NumpySine.apply, (x,), (t,)),
        lambda: func.hessian(lambda x: NumpySine.apply(x).sum())(x),
        lambda: func.vmap(func.grad(func.grad(NumpySine.apply)))(x),
    ):
        with pytest.raises(fg.NotDifferentiableError, match=text):
            derivative()  # type: ignore[no-untyped-call]

    class Stopped(fg.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x.sign()

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return fg.zeros_like(g)

    assert func.jvp(Stopped.apply, (x,), (t,))[1].tolist() == [0.0, 0.0]
    assert func.hessian(lambda x: Stopped.apply(x).sum())(x).tolist() == [[0.0, 0.0], [0.0, 0.0]]


def test_a_linear_rule_is_called_once_more_at_most() -> None:
    calls: list[int] = []

    class Triple(fg.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 3

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            calls.append(1)
            return g * 3

    x = leaf([0.5, -1.0])
    for want in (2, 3, 4):
        slope = fg.grad(Triple.apply(x).sum(), x, create_graph=True)
        assert fg.grad(slope.sum(), x, allow_unused=True) is None
        assert len(calls) == want
    fg.grad(Triple.apply(x).sum(), x)
    assert len(calls) == 5


def test_the_arguments_of_a_custom_vmap() -> None:
    told: list[Any] = []

    class Row(fg.Function):
        @staticmethod
        def forward(ctx: Any, pair: Any, k: Any) -> Any:
            return pair[0] * pair[1], k

        @staticmethod
        def backward(ctx: Any, g: Any, h: Any) -> Any:
            raise AssertionError("its vmap calls other functions")

        @staticmethod
        def vmap(info: Any, in_dims: Any, pair: Any, k: Any) -> Any:
            told.append((info.batch_size, info.randomness, in_dims, tuple(pair[0].shape)))
            a, b = pair
            return ((a.T * b).T.swapaxes(0, 1), k), (1, None)

    a, b = leaf([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]), leaf([10.0, 100.0])

    def row(a: Any, b: Any) -> Any:
        y, k = Row.apply([a, b], "k")
        assert k == "k"
        return y

    y = func.vmap(row, randomness="same")(a, b)
    assert told == [(2, "same", ([0, 0], None), (2, 3))]
    assert y.tolist() == [[10.0, 20.0, 30.0], [400.0, 500.0, 600.0]]
    assert fg.grad(y.sum(), (a, b))[1].tolist() == [6.0, 15.0]


@pytest.mark.parametrize(
    ("result", "text"),
    [
        (lambda x: x, "two returns"),
        (lambda x: (x, 5), "axis 5"),
        (lambda x: (x, (0, 0)), "out_dims"),
        (lambda x: (x[:1], 0), "batch"),
    ],
)
def test_wrong_results_of_a_custom_vmap_raise(result: Any, text: str) -> None:
    class Wrong(fg.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x

        @staticmethod
        def vmap(info: Any, in_dims: Any, x: Any) -> Any:
            return result(x)

    with pytest.raises(fg.ArgumentError, match=text):
        func.vmap(Wrong.apply)(leaf([1.0, 2.0]))


def test_a_function_that_reads_values_cannot_write_to_arguments() -> None:
    class Written(fg.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            x.mul_(x.item())
            ctx.mark_dirty(x)
            return x

    with pytest.raises(fg.ArgumentError, match="write into its arguments"):
        func.vmap(lambda x: Written.apply(x * 1))(leaf([1.0, 2.0]))


def test_in_the_dialects() -> None:
    class Exp(torch.autograd.Function):
        generate_vmap_rule = True

        @staticmethod
        def forward(x: Any) -> Any:
            return x.exp()

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            ctx.save_for_backward(output)

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * ctx.saved_tensors[0]

    x = torch.tensor([0.0, 1.0], requires_grad=True)
    y = torch.vmap(torch.func.grad(Exp.apply))(x)
    assert isinstance(y, torch.Tensor)
    np.testing.assert_allclose(y.tolist(), np.exp([0.0, 1.0]), rtol=1e-6)

    class Scale(paddle.autograd.PyLayer):
        @staticmethod
        def forward(ctx: Any, x: Any, k: float) -> Any:
            ctx.factor = k * float(x)
            return x * ctx.factor

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * ctx.factor

    z = paddle.to_tensor([1.0, 2.0], stop_gradient=False)
    w = func.vmap(lambda x: Scale.apply(x, 3.0))(z)
    assert w.tolist() == [3.0, 12.0]
    assert paddle.grad(w.sum(), z)[0].tolist() == [3.0, 6.0]


def test_a_batch_of_size_zero() -> None:
    with pytest.raises(fg.VmapError, match="inside vmap"):
        func.vmap(NumpySine.apply)(leaf([]))
    assert func.vmap(Cube.apply)(leaf([])).shape == (0,)


def test_a_rule_of_its_own_excludes_a_generated_one() -> None:
    class Both(torch.autograd.Function):
        generate_vmap_rule = True

        @staticmethod
        def forward(x: Any) -> Any:
            return x * 2

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            pass

        @staticmethod
        def vmap(info: Any, in_dims: Any, x: Any) -> Any:
            return x * 2, (0, 0)

    assert not torch.autograd.Function.generate_vmap_rule
    with pytest.raises(RuntimeError, match="generate_vmap_rule=True and a vmap staticmethod"):
        torch.vmap(Both.apply)(torch.ones(3))
    Both.generate_vmap_rule = False
    with pytest.raises(RuntimeError, match="vmap returned an incompatible"):
        torch.vmap(Both.apply)(torch.ones(3))
