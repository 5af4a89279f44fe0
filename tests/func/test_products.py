"""Hessian-vector products, diagonals of Hessians, and Taylor series."""

from __future__ import annotations

from math import factorial
from typing import Any

import ferrograd as fg
import numpy as np
import pytest
from ferrograd.func import grad, hessian, hessian_diagonal, hvp, jvp, taylor, vhp, vmap

from tests.func.tools import same, sample


def f(x: Any, y: Any) -> Any:
    return (fg.sin(x) * y[0] + fg.exp(x * 0.3)).sum() * y[1] ** 3


@pytest.mark.parametrize("product", [hvp, vhp])
def test_products_are_the_hessian_times_a_vector(product: Any) -> None:
    x, y, v, u = sample(4), sample(2, seed=1), sample(4, seed=2), sample(2, seed=3)
    h = hessian(f, argnums=(0, 1))(x, y)
    value, found = product(f, (x, y), (v, u))
    same(value, f(x, y))
    for row, got in zip(h, found, strict=True):
        same(got, np.asarray(row[0]) @ np.asarray(v) + np.asarray(row[1]) @ np.asarray(u))
    assert not any(g.requires_grad for g in found)


@pytest.mark.parametrize("product", [hvp, vhp])
def test_products_of_structures_and_of_constants(product: Any) -> None:
    p = {"w": sample(3)}
    _, (got,) = product(lambda p: (p["w"] ** 3).sum(), (p,), (p,))
    same(got["w"], 6 * np.asarray(p["w"]) ** 2)
    _, (got,) = product(lambda p: p["w"].sum(), (p,), (p,))
    same(got["w"], np.zeros(3))
    _, (got,) = product(lambda p: fg.tensor(1.0), (p,), (p,))
    same(got["w"], np.zeros(3))


@pytest.mark.parametrize("product", [hvp, vhp])
def test_products_keep_outer_gradients(product: Any) -> None:
    w, x, v = sample(3, track=True), sample(3, seed=1), sample(3, seed=2)
    _, (got,) = product(lambda x: (w * x**3).sum(), (x,), (v,))
    same(fg.grad(got.sum(), w), 6 * np.asarray(x) * np.asarray(v))


def test_product_with_a_tracked_vector() -> None:
    x, v = sample(3), sample(3, seed=1, track=True)
    for product in (hvp, vhp):
        _, (got,) = product(lambda x: (x**3).sum(), (x,), (v,))
        same(fg.grad(got.sum(), v), 6 * np.asarray(x))


@pytest.mark.parametrize("chunk", [None, 1, 3])
def test_diagonal_of_the_hessian(chunk: int | None) -> None:
    x, y = sample(4), sample(2, seed=1)
    h = hessian(f, argnums=(0, 1))(x, y)
    dx, dy = hessian_diagonal(f, argnums=(0, 1), chunk_size=chunk)(x, y)
    same(dx, np.diag(np.asarray(h[0][0])))
    same(dy, np.diag(np.asarray(h[1][1])))
    same(hessian_diagonal(lambda m: (m**4).sum())(sample(2, 3)), 12 * np.asarray(sample(2, 3)) ** 2)
    same(hessian_diagonal(lambda m: m.sum())(sample(0)), np.zeros(0))


def test_taylor_against_a_polynomial_and_exp() -> None:
    x, v = sample(3), sample(3, seed=1)
    a, b = np.asarray(x), np.asarray(v)
    found = taylor(lambda x: x**4, x, v, 6)
    for k, got in enumerate(found):
        want = factorial(4) / factorial(4 - k) * a ** (4 - k) * b**k if k <= 4 else np.zeros(3)
        same(got, want)
    for k, got in enumerate(taylor(fg.exp, x, v, 5)):
        same(got, np.exp(a) * b**k)


def test_taylor_of_structures_and_through_outer_values() -> None:
    w = sample(3, track=True)
    found = taylor(lambda p: {"y": (w * p[0] ** 2 * p[1]).sum()}, (sample(3), sample(3)), (sample(3), sample(3)), 2)
    a = np.asarray(sample(3))
    same(found[1]["y"], (np.asarray(w) * 3 * a**3).sum())
    same(fg.grad(found[2]["y"], w), 6 * a**3)


def test_taylor_series_predicts_the_function() -> None:
    x, v = sample(5), sample(5, seed=1)
    found = taylor(lambda x: fg.tanh(x * x).sum(), x, v, 5)
    t = 0.01
    series = sum(np.asarray(d) * t**k / factorial(k) for k, d in enumerate(found))
    same(series, fg.tanh((x + t * v) ** 2).sum(), 1e-9)


A = np.random.default_rng(7).normal(size=(3, 3))
SERIES: dict[str, Any] = {
    "sin": lambda x: fg.sin(x) * fg.cosh(x),
    "quotient": lambda x: fg.sin(x) / (x * x + 1.0),
    "power": lambda x: (x * x + 1.0) ** 1.5,
    "powers": lambda x: (x * x + 1.0) ** x,
    "roots": lambda x: fg.sqrt(x * x + 1.0) + fg.log(x * x + 2.0) + fg.asin(x / 5.0),
    "products": lambda x: (fg.tensor(A) * x) @ (fg.tensor(A) + fg.cos(x)),
    "three factors": lambda x: fg.einsum("i,j,k->ijk", x, fg.sin(x), fg.exp(x)),
    "softmax": lambda x: fg.softmax(x * x, -1) + fg.log_softmax(x * x, -1) + fg.logsumexp(fg.sin(x), -1),
    "angles": lambda x: fg.atan2(fg.sin(x), fg.cos(x) + 3.0) + fg.hypot(fg.sin(x), x + 3.0),
    "activations": lambda x: fg.gelu(x) + fg.silu(x) + fg.softplus(x) + fg.sigmoid(x) + fg.tanh(x) + fg.erf(x),
    # The series of a step function reads signs and multiplies with nothing.
    "masks": lambda x: fg.relu(x * x - 0.1) + fg.where(x > 0, x**3, fg.sin(x)) + fg.maximum(x * x, fg.sin(x)),
    "matrices": lambda x: fg.linalg.inv(fg.tensor(A) + fg.sin(x)) * fg.linalg.det(fg.tensor(A) + x),
    "eigenvalues": lambda x: fg.linalg.eigvalsh(fg.tensor(A + A.T) + fg.diag(fg.sin(x))),
    "products of elements": lambda x: fg.prod(x + 2.0) * fg.cumprod(x + 2.0, 0) + fg.var(x * x) + fg.norm(x + 2.0),
    "moved": lambda x: fg.concat([x[1:] * x[:-1], fg.flip(x)])[fg.tensor([0, 0, 3])],
    "written": lambda x: fg.exp(x).copy_(fg.sin(x) * x),
    "constant": lambda x: fg.ones(2),
    "integers": lambda x: fg.sign(x) + fg.floor(x),
}


@pytest.mark.parametrize("name", SERIES)
def test_taylor_equals_nested_forward_mode(name: str) -> None:
    x, v = sample(3, seed=4), sample(3, seed=5)

    def moved(g: Any) -> Any:
        return lambda x: jvp(g, (x,), (v,))[1]

    g: Any = SERIES[name]
    for got in taylor(g, x, v, 4):
        same(got, g(x), 1e-8)
        g = moved(g)


def test_taylor_through_other_transforms_and_functions() -> None:
    x, v = sample(4, 3), sample(3, seed=1)
    f = SERIES["quotient"]
    third = vmap(lambda x: taylor(f, x, v, 3)[3])(x)
    for i in range(4):
        same(third[i], taylor(f, x[i], v, 3)[3])
    same(
        grad(lambda x: taylor(f, x, v, 2)[2].sum())(x[0]),
        grad(lambda x: jvp(lambda x: jvp(f, (x,), (v,))[1], (x,), (v,))[1].sum())(x[0]),
    )

    class Sine(fg.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return fg.sin(x)

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * fg.cos(ctx.saved_tensors[0])

    for got, want in zip(taylor(Sine.apply, v, v, 3), taylor(fg.sin, v, v, 3), strict=True):
        same(got, want)


def test_taylor_takes_polynomial_time() -> None:
    def deep(x: Any) -> Any:
        for _ in range(5):
            x = fg.tanh(x * 0.5) + fg.sin(x)
            x = fg.exp(-x * x) / (x * x + 1.0) + fg.sqrt(fg.sigmoid(x))
        return x

    def calls(order: int) -> int:
        with fg.profile() as p:
            taylor(deep, sample(3), sample(3, seed=1), order)
        return sum(c.calls for c in p.forward.values())

    few, many = calls(6), calls(12)
    assert many < 2**4 * few
    assert many < 100_000


def test_wrong_arguments_raise() -> None:
    x = sample(3)
    with pytest.raises(fg.ShapeError, match="hvp"):
        hvp(lambda x: x, (x,), (x,))
    with pytest.raises(fg.ShapeError, match="vhp"):
        vhp(lambda x: x, (x,), (x,))
    with pytest.raises(fg.ArgumentError, match="order"):
        taylor(fg.sin, x, x, -1)
    with pytest.raises(fg.ArgumentError, match="order"):
        taylor(fg.sin, x, x, 171)
    with pytest.raises(fg.ShapeError, match="taylor: v"):
        taylor(fg.sin, x, sample(2), 1)
