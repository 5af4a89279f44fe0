"""Nested transforms: each derivative belongs to its own transform."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from typing import Any

import ferrograd as fg
import ferrograd.paddle as paddle
import ferrograd.torch as torch
import numpy as np
import pytest
from ferrograd.func import grad, jacfwd, jacrev, jvp, linearize, value_and_grad, vjp, vmap

from tests.func.tools import same, sample

ONE = fg.tensor(np.float64(1.0))


def reverse(f: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return grad(f)


def forward(f: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda x: jvp(f, (x,), (fg.ones_like(x),))[1]


def linear(f: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda x: linearize(f, x)[1](fg.ones_like(x))


def pulled(f: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda x: vjp(f, x)[1](fg.ones_like(x))[0]


def eager(f: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """The derivative by ``fg.grad`` on the recorded graph."""

    def slope(x: Any) -> Any:
        with fg.enable_grad():
            x = x * 1.0
            if not x.requires_grad:
                x.requires_grad = True
            return fg.grad(f(x), x, create_graph=True)

    return slope


WAYS = [reverse, forward, linear, pulled, jacrev, jacfwd, eager]


@pytest.mark.parametrize("ways", list(itertools.product(WAYS, repeat=2)), ids=lambda w: "-".join(f.__name__ for f in w))
def test_every_pair_of_transforms(ways: Any) -> None:
    outer, inner = ways
    x = fg.tensor(np.float64(0.7))
    same(
        outer(inner(lambda x: fg.sin(x) * x**3))(x),
        6 * 0.7 * np.sin(0.7) + 6 * 0.49 * np.cos(0.7) - 0.343 * np.sin(0.7),
    )


@pytest.mark.parametrize("outer", [way for way in WAYS if way is not eager], ids=lambda way: way.__name__)
@pytest.mark.parametrize(
    "slope", [fg.grad, lambda y, x: torch.autograd.grad(y, x)[0], lambda y, x: paddle.grad(y, x)[0]]
)
def test_what_a_transform_differentiates_is_recorded_without_being_asked(outer: Any, slope: Any) -> None:
    x = fg.tensor(np.float64(0.7))
    same(outer(lambda x: slope(x**3, x) * x)(x), 9 * 0.49)
    same(outer(lambda x: slope(slope(x**3, x), x))(x), 6.0)


def test_a_gradient_under_no_grad_is_a_constant_of_the_transform() -> None:
    def product(x: fg.Tensor) -> fg.Tensor:
        cube = x**3
        with fg.no_grad():
            slope = fg.grad(cube, x)
        return slope * x

    same(grad(product)(fg.tensor(np.float64(0.7))), 3 * 0.49)


@pytest.mark.parametrize("ways", list(itertools.product(WAYS, repeat=2)), ids=lambda w: "-".join(f.__name__ for f in w))
def test_perturbations_are_not_confused(ways: Any) -> None:
    outer, inner = ways
    x = fg.tensor(np.float64(3.0))
    # d/dx x * (d/dy (x + y)) = 1, and d/dx x * (d/dy (x * y * y) at 2) = 8 x
    same(outer(lambda x: x * inner(lambda y: x + y)(ONE))(x), 1.0)
    same(outer(lambda x: x * inner(lambda y: x * y * y)(ONE * 2))(x), 24.0)
    # Here the inner derivative is taken at the outer variable.
    same(outer(lambda x: x * inner(lambda y: x * y * y)(x))(x), 6 * 9.0)


@pytest.mark.parametrize("depth", [3, 4, 5])
def test_deep(depth: int) -> None:
    ways: Any = itertools.cycle([reverse, forward, jacrev, jacfwd])
    f: Any = lambda x: x**6  # noqa: E731
    want = 1.0
    for k in range(depth):
        f = next(ways)(f)
        want *= 6 - k
    same(f(fg.tensor(np.float64(2.0))), want * 2.0 ** (6 - depth))


def test_three_levels_of_closures() -> None:
    def f(a: Any, b: Any, c: Any) -> Any:
        return a * b**2 * c**3

    def by_c(a: Any, b: Any) -> Any:
        return jvp(lambda c: f(a, b, c), (ONE * 3,), (ONE,))[1]

    def by_b(a: Any) -> Any:
        return grad(lambda b: by_c(a, b))(ONE * 5)

    # d/da d/db d/dc (a b^2 c^3) = 2 b * 3 c^2
    same(grad(by_b)(ONE), 10 * 27.0)


def test_outer_tensors_through_every_pair() -> None:
    for outer, inner in itertools.product([reverse, forward], repeat=2):
        w = fg.tensor(np.float64(2.0), requires_grad=True)

        def f(x: Any, w: Any = w) -> Any:
            return w**2 * x**3

        second = outer(inner(f))(fg.tensor(np.float64(5.0)))
        assert second.requires_grad
        same(fg.grad(second, w), 2 * 2 * 6 * 5.0)


def test_batches_between_derivatives() -> None:
    x = sample(3)
    n = np.asarray(x)
    same(vmap(grad(grad(fg.sin)))(x), -np.sin(n))
    same(grad(lambda x: vmap(grad(fg.sin))(x).sum())(x), -np.sin(n))
    same(jvp(vmap(grad(fg.sin)), (x,), (x,))[1], -np.sin(n) * n)
    same(vmap(lambda a: jvp(grad(fg.sin), (a,), (a,))[1])(x), -np.sin(n) * n)
    same(jacfwd(vmap(grad(fg.sin)))(x), np.diag(-np.sin(n)))
    same(
        grad(lambda s: vmap(lambda a: jvp(lambda b: fg.sin(s * b), (a,), (ONE,))[1])(x).sum())(ONE),
        (np.cos(n) - n * np.sin(n)).sum(),
    )


def test_a_gradient_penalty() -> None:
    w, x = sample(3, 3), sample(4, 3, seed=1)

    def penalty(w: Any) -> Any:
        slopes = vmap(grad(lambda row: fg.tanh(row @ w).sum()))(x)
        return ((fg.norm(slopes, axis=-1) - 1) ** 2).sum()

    value, g = value_and_grad(penalty)(w)
    step = 1e-6
    e = np.zeros((3, 3))
    e[1, 2] = step
    up, down = penalty(w + fg.tensor(e)), penalty(w - fg.tensor(e))
    same(np.asarray(g)[1, 2], (up.item() - down.item()) / (2 * step), 1e-6)
    assert value.shape == ()


def test_no_node_outlives_its_transform() -> None:
    import gc

    gc.collect()
    before = fg._core.live_nodes()
    f = jacfwd(jacrev(lambda x: fg.outer(fg.sin(x), x)))
    for _ in range(3):
        f(sample(3))
    assert fg._core.live_nodes() == before


@pytest.mark.parametrize("form", ["row", "column", "rows", "columns"])
def test_a_gradient_that_is_summed_over_a_batch_needs_no_product_for_each_example(form: str) -> None:
    rng = np.random.default_rng(0)
    w, xs = fg.tensor(rng.normal(size=(20, 30))), fg.tensor(rng.normal(size=(50, 2, 20)))
    product: Callable[[Any, Any], Any] = {
        "row": lambda w, x: x[0] @ w,
        "column": lambda w, x: w.T @ x[1],
        "rows": lambda w, x: x @ w,
        "columns": lambda w, x: w.T @ x.T,
    }[form]

    def together(w: Any) -> Any:
        return vmap(lambda x: fg.tanh(product(w, x)).sum() ** 2)(xs).sum()

    def apart(w: Any) -> Any:
        return sum(fg.tanh(product(w, x)).sum() ** 2 for x in xs)

    def slope(f: Callable[[Any], Any]) -> Callable[[Any], Any]:
        return grad(lambda w: (grad(f)(w) ** 2).sum())

    np.testing.assert_allclose(grad(together)(w), grad(apart)(w), rtol=1e-12)
    np.testing.assert_allclose(slope(together)(w), slope(apart)(w), rtol=1e-11)
    compiled = fg.compile(grad(together), fullgraph=True)
    np.testing.assert_array_equal(compiled(w), grad(together)(w))
    found = re.search(r"at most ([\d,]+) bytes", compiled.explain())
    assert found is not None
    assert int(found[1].replace(",", "")) < 50 * 20 * 30 * 8 / 2
