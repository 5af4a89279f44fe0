"""``PyLayer``, and the example in Paddle's documentation."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from ferrograd import paddle
from ferrograd.paddle.autograd import PyLayer


def leaf(*data: float) -> Any:
    return paddle.to_tensor(list(data), stop_gradient=False)


def made(forward: Any, backward: Any) -> type[PyLayer]:
    """A layer with these methods."""
    return type("L", (PyLayer,), {"forward": staticmethod(forward), "backward": staticmethod(backward)})


class cus_tanh(PyLayer):
    @staticmethod
    def forward(ctx: Any, x: Any, func1: Any, func2: Any = paddle.square) -> Any:
        ctx.func = func2
        y = func1(x)
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx: Any, dy: Any) -> Any:
        (y,) = ctx.saved_tensor()
        return dy * (1 - ctx.func(y))


def test_the_example_of_paddles_page() -> None:
    data = paddle.randn([2, 3], dtype="float64")
    data.stop_gradient = False
    z = cus_tanh.apply(data, func1=paddle.tanh)
    z.mean().backward()
    other = paddle.to_tensor(data.numpy(), stop_gradient=False)
    paddle.tanh(other).mean().backward()
    assert data.grad.numpy() == pytest.approx(other.grad.numpy())


@pytest.mark.parametrize("wrap", [list, tuple, lambda g: ([*g],), lambda g: [[*g]]])
def test_arguments_that_are_lists_of_tensors(wrap: Any) -> None:
    def forward(ctx: Any, xs: Any) -> Any:
        ctx.save_for_backward(*xs)
        return xs[0] * xs[1] + xs[2]

    def backward(ctx: Any, g: Any) -> Any:
        a, b, _ = ctx.saved_tensor()
        return wrap([g * b, g * a, g])

    xs = [leaf(2.0), leaf(3.0), leaf(4.0)]
    if wrap is tuple:
        with pytest.raises(ValueError, match="should be 1, but received 3"):
            made(forward, backward).apply(xs).backward()
        return
    made(forward, backward).apply(xs).backward()
    assert [x.grad.tolist() for x in xs] == [[3.0], [2.0], [1.0]]


def test_results_that_are_lists_of_tensors() -> None:
    layer = made(lambda ctx, x: (x * 2, [x * 3, x * 4]), lambda ctx, g, hs: g * 2 + hs[0] * 3 + hs[1] * 4)
    x = leaf(1.0)
    y, zs = layer.apply(x)
    (y + zs[0] * 10 + zs[1] * 100).backward()
    assert x.grad.tolist() == [432.0]
    assert isinstance(made(lambda ctx, x: [x * 2, x], lambda ctx, g, h: g).apply(x * 1), list)


@pytest.mark.parametrize(
    ("forward", "backward", "gist"),
    [
        (lambda ctx, x, y: x * y, lambda ctx, g: g, "should not return empty at 1 position"),
        (lambda ctx, x, y: x * y, lambda ctx, g: (g, g, g), "should be 2, but received 3"),
        (lambda ctx, x, y: x * y, lambda ctx, g: (g, 1), "got int"),
        (lambda ctx, x, y: x * y, lambda ctx, g: (g, paddle.ones([3])), r"got \[3\] but expected .* \[2\]"),
        (lambda ctx, x, y: (1, 2), lambda ctx, g: g, "At least one output of `PyLayer.forward` is a `Tensor`"),
    ],
)
def test_wrong_layers_are_refused(forward: Any, backward: Any, gist: str) -> None:
    x, y = leaf(1.0, 2.0), leaf(3.0, 4.0)
    with pytest.raises(ValueError, match=gist):
        made(forward, backward).apply(x, y).backward()


def test_missing_methods_and_missing_gradients() -> None:
    class Empty(PyLayer):
        pass

    class Half(PyLayer):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

    with pytest.raises(NotImplementedError):
        Empty.apply(leaf(1.0))
    with pytest.raises(NotImplementedError):
        Half.apply(leaf(1.0)).backward()
    x, y = leaf(1.0), paddle.to_tensor([2.0])
    made(lambda ctx, x, y: x * y, lambda ctx, g: g * 2).apply(x, y).backward()
    assert x.grad.tolist() == [2.0], "fewer gradients are accepted if the others are not needed"


@pytest.mark.parametrize("kind", [KeyError, StopIteration, ZeroDivisionError, KeyboardInterrupt])
def test_exceptions_of_backward_arrive_unchanged_with_notes(kind: type[BaseException]) -> None:
    error = kind("from inside")

    class Inner(PyLayer):
        forward = staticmethod(lambda ctx, x: x * 2)

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            raise error

    class Outer(PyLayer):
        forward = staticmethod(lambda ctx, x: x * 3)

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            x = leaf(1.0)
            with paddle.enable_grad():
                Inner.apply(x).backward()
            return g

    with pytest.raises(kind) as caught:
        Outer.apply(leaf(1.0)).backward()
    assert caught.value is error
    notes = error.__notes__
    assert "Error message in backward of Inner" in notes[0]
    assert "test_function.py" in notes[0]
    assert "Error message in backward of Outer" in notes[1]


def test_only_tensor_arguments_and_results_have_gradients() -> None:
    seen: list[int] = []

    def forward(ctx: Any, x: Any, k: int, y: Any, xs: Any = (), flag: bool = False) -> Any:
        assert flag
        ctx.k = k
        ctx.save_for_backward(*xs)
        return x * k + y, 1, xs[0] * xs[1] + xs[2], None

    def backward(ctx: Any, *g: Any) -> Any:
        seen.append(len(g))
        a, b, _ = ctx.saved_tensor()
        return g[0] * ctx.k, g[0], [g[1] * b, g[1] * a, g[1]]

    x, y, xs = leaf(2.0), leaf(3.0), [leaf(2.0), leaf(3.0), leaf(4.0)]
    first, one, second, nothing = made(forward, backward).apply(x, 4, y=y, xs=xs, flag=True)
    assert one == 1
    assert nothing is None
    (first + 10 * second).backward()
    assert seen == [2]
    assert [t.grad.tolist() for t in (x, y, *xs)] == [[4.0], [1.0], [30.0], [20.0], [10.0]]


def test_a_forward_that_returns_its_input() -> None:
    same = made(lambda ctx, x: x, lambda ctx, g: g * 2)
    x = leaf(1.0)
    with pytest.raises(ValueError, match="Leaf Var that doesn't stop gradient can't use inplace strategy"):
        same.apply(x)
    y = x * 3
    square = y * y
    r = same.apply(y)
    assert r is y
    assert y.inplace_version == 1
    (r + square).backward()
    assert x.grad.tolist() == [6.0 + 18.0], "the square saved the earlier value with its history"

    def forward(ctx: Any, x: Any) -> Any:
        ctx.mark_not_inplace(x)
        return x

    x = leaf(1.0)
    y = x * 1
    r = made(forward, lambda ctx, g: g * 3).apply(y)
    assert r is not y
    assert y.inplace_version == 0
    (r + y).backward()
    assert x.grad.tolist() == [4.0]


@pytest.mark.parametrize("consistent", [None, True, False])
@pytest.mark.parametrize("way", ["seed", "grad", "layer", "sum", "hooks", "cast"])
def test_the_dtype_that_backward_receives(consistent: bool | None, way: str) -> None:
    seen: list[Any] = []

    def forward(ctx: Any, x: Any) -> Any:
        if consistent is not None:
            ctx.set_grad_in_dtype_consistent(consistent)
        return x * 2

    def backward(ctx: Any, g: Any) -> Any:
        seen.append(g.dtype)
        return g * 2

    wide = made(lambda ctx, x: x * 1, lambda ctx, g: g.astype("float64"))
    x = paddle.to_tensor([1.0, 2.0], stop_gradient=False)
    y = made(forward, backward).apply(x)
    seed = paddle.ones([2], dtype="float64")
    if way == "hooks":
        y.register_hook(lambda g: g * 1)
    if way == "seed":
        y.backward(seed)
    elif way == "grad":
        assert paddle.grad([y], [x], [seed], create_graph=True)[0].dtype == "float32"
    elif way == "cast":
        y.astype("float64").backward()
    elif way == "sum":
        (y + wide.apply(y)).backward()
    else:
        wide.apply(y).backward()
    as_it_comes = consistent is False and way != "cast"
    assert set(seen) == {np.dtype("float64" if as_it_comes else "float32")}
    if way != "grad":
        assert x.grad.dtype == "float32", "the result of backward is cast to the dtype of the argument"
        assert x.grad.tolist() == ([4.0, 4.0] if way == "sum" else [2.0, 2.0])


def test_the_dtype_of_a_result() -> None:
    x = leaf(1.0)
    y = made(lambda ctx, x: x.astype("float64") * 2, lambda ctx, g: g * 2).apply(x)
    y.backward(paddle.ones([1], dtype="float32"))
    assert x.grad.dtype == "float32"
    assert x.grad.tolist() == [2.0]
