"""Custom functions in every namespace."""

from __future__ import annotations

import importlib
from typing import Any

import ferrograd as fg
import numpy as np
import pytest
from ferrograd import func, paddle, torch
from ferrograd.testing import check

from tests.dialects import ALL, Dialect, values

every = pytest.mark.parametrize("d", ALL, ids=repr)
BASES: dict[str, Any] = {"native": fg.Function, "paddle": paddle.autograd.PyLayer, "torch": torch.autograd.Function}


def made(d: Dialect, forward: Any, backward: Any) -> Any:
    """A custom function with these methods."""
    return type("F", (BASES[d.name],), {"forward": staticmethod(forward), "backward": staticmethod(backward)})


def keeping(f: Any) -> Any:
    """A forward that saves its argument."""

    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return f(x)

    return forward


@every
def test_none_from_backward_leaves_grad_unset(d: Dialect) -> None:
    x, y = d.leaf([1.0, 2.0]), d.leaf([3.0, 4.0])
    d.backward([made(d, lambda ctx, x: x * 2, lambda ctx, g: None).apply(x)])
    assert x.grad is None
    d.backward([made(d, lambda ctx, x, y: x * y, lambda ctx, g: (None, g * 5)).apply(x, y)])
    assert x.grad is None
    assert values(y.grad) == [5, 5]


@every
def test_none_from_backward_beside_other_gradients(d: Dialect) -> None:
    x, y = d.leaf([1.0, 2.0]), d.leaf([3.0, 4.0])
    silent = made(d, lambda ctx, x: x * 2, lambda ctx, g: None)
    dx, dy = d.grad([silent.apply(x) + y], [x, y], allow_unused=True)
    assert dx is None
    assert values(dy) == [1, 1]
    # A tensor that is used elsewhere too has the gradient from there, even if it is zero.
    (dx,) = d.grad([silent.apply(x) + x // 1], [x], allow_unused=True)
    assert values(dx) == [0, 0]
    if d.name == "paddle":
        assert d.grad([silent.apply(x)], [x]) == [None]
    else:
        with pytest.raises(RuntimeError, match="the functions that use it gave None for its gradient"):
            d.grad([silent.apply(x)], [x])


@every
def test_three_derivatives_of_a_cube(d: Dialect) -> None:
    def backward(ctx: Any, g: Any) -> Any:
        (x,) = ctx.saved_tensors
        return g * 3 * x**2

    x = d.leaf(3.0)
    y = made(d, keeping(lambda x: x**3), backward).apply(x)
    found = []
    for _ in range(3):
        (y,) = d.grad([y], [x], create_graph=True)
        found.append(values(y))
    assert found == [27, 18, 6]


@every
@pytest.mark.parametrize("path", ["the function alone", "through the gradient of its result"])
def test_once_differentiable_refuses_a_second_derivative(d: Dialect, path: str) -> None:
    @fg.once_differentiable
    def backward(ctx: Any, g: Any) -> Any:
        assert not d.module.is_grad_enabled()
        return g * 2 * ctx.saved_tensors[0]

    square = made(d, keeping(lambda x: x * x), backward)
    x = d.leaf([3.0])
    (dx,) = d.grad([square.apply(x)], [x])
    assert values(dx) == [6]
    assert dx.stop_gradient
    y = square.apply(x)
    (dx,) = d.grad([y if path == "the function alone" else y * y], [x], create_graph=True)
    with pytest.raises(
        RuntimeError, match="trying to differentiate twice a function that was marked with @once_differentiable"
    ):
        d.backward([dx])


@pytest.mark.parametrize(
    "module", ["paddle.autograd.py_layer", "paddle.autograd.function", "torch.autograd.function", "paddle.autograd"]
)
def test_the_modules_that_offer_once_differentiable(module: str) -> None:
    assert importlib.import_module(f"ferrograd.{module}").once_differentiable is fg.once_differentiable
    assert paddle.autograd.Function is paddle.autograd.PyLayer


@every
@pytest.mark.parametrize("materialize", [None, True, False])
def test_materialize_grads_gives_zeros_or_none_for_an_unused_result(d: Dialect, materialize: bool | None) -> None:
    seen: list[Any] = []

    def forward(ctx: Any, x: Any) -> Any:
        if materialize is not None:
            ctx.set_materialize_grads(materialize)
        return x * 2, x * 3

    def backward(ctx: Any, *g: Any) -> Any:
        seen.extend(values(one) for one in g)
        return g[0] * 2

    x = d.leaf([1.0, 2.0])
    d.backward([made(d, forward, backward).apply(x)[0]])
    assert seen == [[1, 1], None if materialize is False else [0, 0]]
    assert values(x.grad) == [2, 2]


@every
def test_results_marked_non_differentiable(d: Dialect) -> None:
    seen: list[Any] = []

    def forward(ctx: Any, x: Any) -> Any:
        y, z = x * 2, x * 3
        ctx.mark_non_differentiable(z)
        return y, z

    def backward(ctx: Any, *g: Any) -> Any:
        seen.extend(values(one) for one in g)
        return g[0] * 2

    x = d.leaf([1.0, 2.0])
    y, z = made(d, forward, backward).apply(x)
    assert not y.stop_gradient
    assert z.stop_gradient
    d.backward([y * z])
    assert seen == [[3, 6], [0, 0]]
    assert values(x.grad) == [6, 12]

    def alone(ctx: Any, x: Any) -> Any:
        y = x * 2
        ctx.mark_non_differentiable(y)
        return y

    y = made(d, alone, lambda ctx, g: 1 / 0).apply(x)
    assert y.stop_gradient
    (dx,) = d.grad([y * x], [x])
    assert values(dx) == [2, 4], "its backward is not called"


@every
@pytest.mark.parametrize("write", ["fill", "setitem", "data"])
def test_saved_tensors_keep_their_values_under_later_writes(d: Dialect, write: str) -> None:
    x = d.leaf(np.array([2.0]))
    y = x * 1
    z = made(d, keeping(lambda x: x * x), lambda ctx, g: g * 2 * ctx.saved_tensors[0]).apply(y)
    if write == "fill":
        y.fill_(8.0)
    elif write == "setitem":
        y[0] = 8.0
    else:
        y.data.fill_(8.0)
    assert values(y) == [8]
    d.backward([z])
    assert values(x.grad) == [4]


def test_once_differentiable_has_tangents_of_the_first_order() -> None:
    class Square(fg.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        @fg.once_differentiable
        def backward(ctx: Any, g: Any) -> Any:
            (x,) = ctx.saved_tensors
            return 2 * x * g

    x, v = fg.tensor([3.0, 2.0], dtype="float64"), fg.tensor([1.0, -1.0], dtype="float64")

    def tangent(x: Any) -> Any:
        return func.jvp(Square.apply, (x,), (v,))[1]

    assert tangent(x).tolist() == [6.0, -4.0]
    assert not tangent(x).requires_grad
    assert func.jacfwd(Square.apply)(x).tolist() == [[6.0, 0.0], [0.0, 4.0]]
    assert func.vmap(tangent)(fg.stack([x, 2 * x])).tolist() == [[6.0, -4.0], [12.0, -8.0]]
    compiled = fg.compile(tangent, fullgraph=True)
    assert [compiled(x).tolist(), compiled(2 * x).tolist()] == [[6.0, -4.0], [12.0, -8.0]]
    check(Square.apply, [x], order=1)
    seconds: list[Any] = [lambda x: func.grad(lambda x: tangent(x).sum())(x), lambda x: func.jvp(tangent, (x,), (v,))]
    for second in seconds:
        with pytest.raises(fg.NotDifferentiableError, match="marked with @once_differentiable"):
            second(x)
    with pytest.raises(fg.NotDifferentiableError, match="marked with @once_differentiable"):
        check(Square.apply, [x], order=2)


def test_once_differentiable_without_recorded_functions_asks_for_a_jvp() -> None:
    class Square(fg.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return fg.tensor(x.numpy() ** 2)

        @staticmethod
        @fg.once_differentiable
        def backward(ctx: Any, g: Any) -> Any:
            return fg.tensor(2 * ctx.saved_tensors[0].numpy() * g.numpy())

    x = fg.tensor([3.0, 2.0], dtype="float64")
    with pytest.raises(fg.NotDifferentiableError, match="give the function a jvp"):
        func.jvp(Square.apply, (x,), (x,))
