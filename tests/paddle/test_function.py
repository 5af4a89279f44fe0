"""``PyLayer`` (S108–S119), and the examples of Paddle's own pages."""

from __future__ import annotations

from typing import Any

import pytest
from ferrograd import paddle
from ferrograd.paddle.autograd import PyLayer
from ferrograd.paddle.autograd.py_layer import once_differentiable


def leaf(*data: float) -> Any:
    return paddle.to_tensor(list(data), stop_gradient=False)


def made(forward: Any, backward: Any) -> type[PyLayer]:
    """A layer of two functions."""
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


def test_only_tensors_have_gradients() -> None:
    seen: list[int] = []

    def forward(ctx: Any, x: Any, k: int, y: Any, flag: bool = False) -> Any:
        ctx.k = k
        return x * k, 1, y * x, None

    def backward(ctx: Any, *g: Any) -> Any:
        seen.append(len(g))
        return g[0] * ctx.k, g[0] * 0

    x, y = leaf(2.0), leaf(3.0)
    out = made(forward, backward).apply(x, 4, y, flag=True)
    assert out[1] == 1
    assert out[3] is None
    out[0].backward()
    assert seen == [2]
    assert x.grad.tolist() == [4.0]
    assert y.grad.tolist() == [0.0]


@pytest.mark.parametrize("wrap", [list, tuple, lambda g: ([*g],), lambda g: [[*g]]])
def test_lists_of_tensors(wrap: Any) -> None:
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


def test_lists_of_results() -> None:
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


def test_what_is_missing() -> None:
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
    assert x.grad.tolist() == [2.0], "fewer gradients, where the others are not needed"


def test_none_is_no_gradient() -> None:
    x = leaf(1.0)
    made(lambda ctx, x: x * 2, lambda ctx, g: None).apply(x).backward()
    assert x.grad is None


def test_inputs_as_results() -> None:
    same = made(lambda ctx, x: x, lambda ctx, g: g * 2)
    x = leaf(1.0)
    with pytest.raises(ValueError, match="can't use inplace strategy"):
        same.apply(x)
    y = x * 1
    r = same.apply(y)
    assert r is y
    assert y.inplace_version == 1
    r.backward()
    assert x.grad.tolist() == [2.0]

    def forward(ctx: Any, x: Any) -> Any:
        ctx.mark_not_inplace(x)
        return x

    y = x * 1
    r = made(forward, lambda ctx, g: g * 3).apply(y)
    assert r is not y
    assert y.inplace_version == 0
    r.backward()
    assert x.grad.tolist() == [5.0]


def test_what_was_saved_stays_as_it_was() -> None:
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x * x

    x = leaf(2.0)
    y = x * 1
    z = made(forward, lambda ctx, g: g * 2 * ctx.saved_tensor()[0]).apply(y)
    y.fill_(8.0)
    z.backward()
    assert x.grad.tolist() == [4.0]


def test_dtypes() -> None:
    def forward(ctx: Any, x: Any) -> Any:
        ctx.set_grad_in_dtype_consistent(False)
        return x.astype("float64") * 2

    def backward(ctx: Any, g: Any) -> Any:
        assert g.dtype == "float64"
        return g * 2

    x = leaf(1.0)
    made(forward, backward).apply(x).backward()
    assert x.grad.dtype == "float32"
    assert x.grad.tolist() == [2.0]


@pytest.mark.parametrize("kind", [KeyError, StopIteration, ZeroDivisionError, KeyboardInterrupt])
def test_exceptions_come_out_as_they_are(kind: type[BaseException]) -> None:
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


def test_once_differentiable() -> None:
    class Square(PyLayer):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        @once_differentiable
        def backward(ctx: Any, g: Any) -> Any:
            return g * 2 * ctx.saved_tensor()[0]

    x = leaf(3.0)
    (dx,) = paddle.grad(Square.apply(x), x, create_graph=True)
    with pytest.raises(RuntimeError, match="marked with @once_differentiable"):
        paddle.grad(dx, x)
