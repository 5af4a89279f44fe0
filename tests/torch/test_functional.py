"""``torch.autograd.functional``: values, containers, ``create_graph`` and ``strict``."""

from __future__ import annotations

from typing import Any

import ferrograd as fg
import numpy as np
import pytest
from ferrograd import torch
from ferrograd.torch.autograd import functional as F

from tests.func.tools import same

X = torch.tensor([1.0, 2.0], dtype=torch.float64)
ONES = torch.ones(2, dtype=torch.float64)


def cube(x: Any) -> Any:
    return (x**3).sum()


def test_vjp_jvp_hvp_and_vhp_of_a_cube() -> None:
    for product, want in ((F.vjp, [3, 12]), (F.jvp, 15), (F.hvp, [6, 12]), (F.vhp, [6, 12])):
        v = None if product is F.vjp else ONES
        value, found = product(cube, X, v)
        same(value, 9.0)
        same(found, np.asarray(want, float))
        assert not value.requires_grad
        assert not found.requires_grad


def test_several_inputs_and_outputs() -> None:
    y = X + 1
    value, (dx, dy) = F.vjp(lambda x, y: (x * y, x.sum()), (X, y), (ONES, torch.tensor(2.0)))
    assert isinstance(value, tuple)
    same(dx, np.asarray(y) + 2)
    same(dy, X)
    _, moved = F.jvp(lambda x, y: (x * y, x.sum()), (X, y), (ONES, ONES))
    same(moved[0], np.asarray(X) + np.asarray(y))
    same(moved[1], 2.0)
    j = F.jacobian(lambda x, y: (x * y, x.sum()), (X, y))
    same(j[0][0], np.diag(y))
    same(j[1][1], np.zeros(2))
    h = F.hessian(lambda x, y: (x**2 * y).sum(), (X, y))
    same(h[0][0], 2 * np.diag(y))
    same(h[0][1], 2 * np.diag(X))
    same(F.jacobian(lambda x: (x,), X)[0], np.eye(2))
    same(F.hessian(cube, (X,))[0][0], np.diag([6, 12.0]))


@pytest.mark.parametrize("vectorize", [False, True])
@pytest.mark.parametrize("strategy", ["reverse-mode", "forward-mode"])
def test_strategies(vectorize: bool, strategy: str) -> None:
    same(F.jacobian(lambda x: x**2, X, vectorize=vectorize, strategy=strategy), np.diag([2, 4.0]))
    same(F.hessian(cube, X, vectorize=vectorize, outer_jacobian_strategy=strategy), np.diag([6, 12.0]))


def test_create_graph() -> None:
    x = torch.tensor([1.0, 2.0], requires_grad=True, dtype=torch.float64)
    for found in (
        F.vjp(cube, x, create_graph=True)[1],
        F.jvp(cube, x, ONES, create_graph=True)[1],
        F.jacobian(cube, x, create_graph=True),
        F.jacobian(cube, x, create_graph=True, strategy="forward-mode"),
    ):
        same(torch.autograd.grad(found.sum(), x)[0], [6.0, 12.0])
    for found in (
        F.hvp(cube, x, ONES, create_graph=True)[1],
        F.vhp(cube, x, ONES, create_graph=True)[1],
        F.hessian(cube, x, create_graph=True),
        F.hessian(cube, x, create_graph=True, outer_jacobian_strategy="forward-mode"),
    ):
        same(torch.autograd.grad(found.sum(), x)[0], [6.0, 6.0])
    with torch.no_grad():
        assert F.jacobian(cube, x, create_graph=True).requires_grad
        assert not F.jacobian(cube, x).requires_grad
    assert F.jacobian(cube, X, create_graph=True).requires_grad
    assert not F.vjp(cube, x)[0].requires_grad


def test_without_create_graph_nothing_of_the_caller_is_recorded() -> None:
    w = torch.tensor([1.0, 2.0], requires_grad=True, dtype=torch.float64)
    assert not F.jacobian(lambda x: w * x, X).requires_grad


def test_results_inside_a_native_transform_can_be_differentiated() -> None:
    x, v = torch.tensor([0.3, -0.7, 1.1], dtype=torch.float64), torch.tensor([1.0, 2.0, -1.0], dtype=torch.float64)

    def f(x: Any) -> Any:
        return x**3 * x.sum()

    def g(x: Any) -> Any:
        return f(x).sum()

    calls: list[Any] = [
        lambda x: F.jacobian(f, x),
        lambda x: F.jacobian(f, x, strategy="forward-mode", vectorize=True),
        lambda x: F.hessian(g, x),
        lambda x: F.vjp(f, x, v)[1],
        lambda x: F.jvp(f, x, v)[1],
        lambda x: F.hvp(g, x, v)[1],
        lambda x: F.vhp(g, x, v)[1],
    ]
    for call in calls:
        want = np.asarray(fg.func.grad(lambda x, call=call: (call(x) ** 2).sum())(x))
        step = 1e-5
        for i in range(3):
            e = torch.tensor(np.eye(3)[i] * step)
            up, down = (float((np.asarray(call(x + s * e)) ** 2).sum()) for s in (1, -1))
            assert abs(want[i] - (up - down) / (2 * step)) < 1e-5 * max(1, abs(want[i]))
        assert not call(x.clone().requires_grad_()).requires_grad


def test_products_with_independent_outputs() -> None:
    same(F.vjp(lambda x, y: x.sum(), (X, X))[1][1], [0.0, 0.0])
    same(F.jvp(lambda x: torch.ones(3), X, ONES)[1], [0.0, 0.0, 0.0])
    same(F.hvp(lambda x: x.sum(), X, ONES)[1], [0.0, 0.0])
    same(F.vhp(lambda x: x.sum(), X, ONES)[1], [0.0, 0.0])


REFUSED: list[tuple[str, Any]] = [
    ("The vector v can only be None if the user-provided function returns", lambda: F.vjp(torch.sin, X)),
    ("The vector v can only be None if the input", lambda: F.jvp(torch.sin, X)),
    ("v has invalid size: should be", lambda: F.vjp(torch.sin, X, torch.ones(3))),
    ("Entry 1 in v has invalid size", lambda: F.jvp(torch.add, (X, X), (X, torch.ones(3)))),
    ("v is a tuple of invalid length: should be 2 but got 1", lambda: F.jvp(torch.add, (X, X), (X,))),
    ("should contain a single Tensor", lambda: F.jvp(torch.sin, X, (X, X))),
    ("inputs given to vjp must be either a Tensor or a tuple", lambda: F.vjp(torch.sin, 2.0)),
    ("value at index 1 has type", lambda: F.vjp(torch.sin, (X, 2.0))),
    ("outputs of the user-provided function given to vjp", lambda: F.vjp(lambda x: 2.0, X)),
    ("should contain a single element", lambda: F.hessian(torch.sin, X)),
    ("given to hvp should return a single Tensor", lambda: F.hvp(lambda x: (x.sum(), x.sum()), X, X)),
    ("Output 0 of the .* does not require gradients", lambda: F.vjp(lambda x: torch.ones(2), X, X, strict=True)),
    ("is independent of input 1", lambda: F.vjp(lambda x, y: x, (X, X), X, strict=True)),
    (
        "jacobian .* with respect to input 0",
        lambda: F.hessian(lambda x: X.clone().requires_grad_().sum(), X, strict=True),
    ),
    ("Output 0 .* independent of input 1", lambda: F.jacobian(lambda x, y: x, (X, X), strict=True)),
    ("strict mode when create_graph", lambda: F.jacobian(lambda x: x * 2, X, strict=True, create_graph=True)),
    ("While computing the hessian", lambda: F.hessian(lambda x: x.sum(), X, strict=True)),
    ("While computing the hessian", lambda: F.hvp(lambda x: x.sum(), X, X, strict=True)),
    ("Expected strategy to be either", lambda: F.jacobian(torch.sin, X, strategy="sideways")),
]


@pytest.mark.parametrize(("text", "call"), REFUSED, ids=[t for t, _ in REFUSED])
def test_wrong_arguments_raise(text: str, call: Any) -> None:
    with pytest.raises(fg.ArgumentError, match=text):
        call()


def test_strict_accepts_outputs_that_depend_on_the_inputs() -> None:
    x = torch.tensor([1.0, 2.0], requires_grad=True, dtype=torch.float64)
    F.vjp(cube, x, strict=True, create_graph=True)
    F.jacobian(lambda x: x**2, x, strict=True, create_graph=True)
    F.hessian(cube, x, strict=True, create_graph=True)
    F.hvp(cube, x, ONES, strict=True)


@pytest.mark.parametrize("call", [F.vjp, F.jvp, F.vhp, F.hvp, F.jacobian, F.hessian], ids=lambda f: f.__name__)
def test_the_result_of_the_function_is_checked(call: Any) -> None:
    name = call.__name__
    for wrong in (lambda x: [x, x], lambda x: {"y": x}, lambda x: (x, 2.0), lambda x: "y"):
        with pytest.raises(TypeError, match=f"The outputs of the user-provided function given to {name} must be"):
            call(wrong, X)
