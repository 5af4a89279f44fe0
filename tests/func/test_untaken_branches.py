"""Branches and steps that an example of ``vmap`` does not take: no infinity, no error and no write comes from them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ferrograd as fg
import ferrograd.torch as torch
import numpy as np
import pytest
from ferrograd import func
from ferrograd.func import cond, scan, while_loop

Maker = Callable[..., Any]


def root(x: Any) -> Any:
    return cond(x > 0, fg.sqrt, fg.zeros_like, x)


def down(x: Any) -> Any:
    """A loop that ends for no number of the half line that its branch excludes."""
    return while_loop(lambda y: (y <= 0) | (y > 1), lambda y: y * 0.5, x)


def rooted(x: Any) -> Any:
    return while_loop(lambda y: y > 1, lambda y: fg.sqrt(y - 1), x)


def three(x: Any) -> Any:
    """One of three branches."""
    middle = lambda x: cond(x > 0, fg.sqrt, lambda x: x * x, x)  # noqa: E731
    return cond(x < -1, lambda x: fg.log(-x - 1), middle, x)


def closed_over(x: Any) -> Any:
    """The branch reads nothing but what it closes over."""
    y = x * 1
    return cond(x > 0, lambda: fg.log(y) * fg.sqrt(y), lambda: y**3)


def in_a_scan(x: Any) -> Any:
    def step(c: Any, k: Any) -> Any:
        return cond(c > k, lambda c: fg.sqrt(c - k) + 1, lambda c: c * 0.5, c), c

    return scan(step, x, fg.linspace(0.0, 1.0, 70, dtype="float64")[:5])[0]


def in_a_long_scan(x: Any) -> Any:
    def step(c: Any, k: Any) -> Any:
        return cond(c > k, lambda c: fg.sqrt(c - k) * 0.9 + k, lambda c: c * 0.5 + k, c), None

    return scan(step, x, fg.linspace(0.0, 1.0, 70, dtype="float64"))[0]


def branch_of_a_loop(x: Any) -> Any:
    return cond(x > 0, down, lambda x: x * 2, x)


def loop_of_branches(x: Any) -> Any:
    def step(y: Any) -> Any:
        return cond(y > 2, lambda y: fg.sqrt(y - 2) + 0.5, lambda y: y - 0.75, y)

    return while_loop(lambda y: y > 1, step, x)


def checkpointed(x: Any) -> Any:
    y = x * 1
    return cond(x > 0, lambda: fg.checkpoint(lambda: fg.sqrt(y) * fg.log(y)), lambda: y * 3)


def of_torch(x: Any) -> Any:
    return torch.cond(x > 0, fg.sqrt, lambda x: x * 0, (x,))


def newton(x: Any) -> Any:
    """The derivative inside of a branch is a divisor."""

    def f(y: Any) -> Any:
        return y**1.5 - 2

    return cond(x > 0, lambda x: x - f(x) / func.grad(f)(x), lambda x: x * x, x)


def inverse(x: Any) -> Any:
    """The branch raises an error for a matrix that does not take it."""
    a = fg.eye(2, dtype="float64") * x
    return cond(x > 0, lambda a: fg.linalg.cholesky(a).sum() + fg.linalg.inv(a).sum(), fg.sum, a)


FUNCTIONS: dict[str, Any] = {
    f.__name__: f
    for f in (
        root, rooted, three, closed_over, in_a_scan, in_a_long_scan, branch_of_a_loop, loop_of_branches, checkpointed,
        of_torch, newton, inverse,
    )
}  # fmt: skip

TRANSFORMS: dict[str, Maker] = {
    "value": lambda f: f,
    "grad": func.grad,
    "second": lambda f: func.grad(func.grad(f)),
    "third": lambda f: func.grad(func.grad(func.grad(f))),
    "jvp": lambda f: lambda x: func.jvp(f, (x,), (fg.ones_like(x),))[1],
    "jacrev": func.jacrev,
    "hessian": func.hessian,
    "jacfwd of jacrev": lambda f: func.jacfwd(func.jacrev(f)),
}

X = fg.tensor([4.0, -4.0, 0.25, -0.5, 2.5], dtype="float64")


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("transform", TRANSFORMS)
def test_each_example_has_the_derivative_of_its_own_branch(name: str, transform: str) -> None:
    f = TRANSFORMS[transform](FUNCTIONS[name])
    for at in (X, X[:1], X[1:2]):
        wanted = [f(x).item() for x in at]
        np.testing.assert_allclose(func.vmap(f)(at), wanted, rtol=1e-12, atol=1e-13)
    twice = func.vmap(func.vmap(f))(X[:4].reshape([2, 2]))
    np.testing.assert_allclose(twice.reshape([4]), [f(x).item() for x in X[:4]], rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("transform", ["value", "grad", "jvp"])
def test_compiled_branches_of_a_batch(name: str, transform: str) -> None:
    f = TRANSFORMS[transform](FUNCTIONS[name])
    compiled = fg.compile(func.vmap(f))
    for at in (X, X + 0.125, -X, X * X, -X * X):
        wanted = [f(x).item() for x in at]
        np.testing.assert_allclose(compiled(at), wanted, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("wrap", [lambda f: f, fg.compile], ids=["eager", "compiled"])
def test_a_weight_that_all_examples_share(wrap: Any) -> None:
    def loss(w: Any, x: Any) -> Any:
        part = lambda x: cond(x > 0, lambda x: fg.sqrt(w * x) + fg.log(x + w - 1), lambda x: x * w, x)  # noqa: E731
        return func.vmap(part)(x).sum()

    w, at = fg.tensor(1.0, dtype="float64"), X.numpy()
    positive = at[at > 0]
    first = (0.5 * np.sqrt(positive) + 1 / positive).sum() + at[at < 0].sum()
    second = (-0.25 * np.sqrt(positive) - 1 / positive**2).sum()
    assert np.isclose(wrap(func.grad(loss))(w, X).item(), first)
    assert np.isclose(wrap(func.grad(func.grad(loss)))(w, X).item(), second)
    assert np.isclose(wrap(lambda w: func.jvp(lambda w: loss(w, X), (w,), (w,))[1])(w).item(), first)
    # Each example's own gradient of the weight.
    one = func.vmap(func.grad(lambda w, x: cond(x > 0, lambda: fg.sqrt(w * x), lambda: w * 2)), (None, 0))
    wanted = [0.5 * np.sqrt(x) if x > 0 else 2.0 for x in at]
    np.testing.assert_allclose(wrap(one)(w, X), wanted)


def test_a_weight_of_a_matrix_product() -> None:
    w = fg.tensor([[1.0, 2.0], [3.0, 4.0]], dtype="float64")
    x = fg.tensor([[4.0, 1.0], [0.0, -1.0], [1.0, 9.0]], dtype="float64")

    def one(w: Any, x: Any) -> Any:
        return cond(fg.all(x > 0), lambda: (w @ (1 / fg.sqrt(x))).sum(), lambda: w.sum() * 0)

    found = func.grad(lambda w: func.vmap(lambda x: one(w, x))(x).sum())(w)
    np.testing.assert_allclose(found, sum(func.grad(one)(w, x[i]).numpy() for i in range(3)))


def test_a_branch_that_no_example_takes_does_not_run() -> None:
    calls: list[str] = []

    def noted(name: str) -> Any:
        def run(x: Any) -> Any:
            calls.append(name)
            return x * 2

        return run

    for at, ran in ((X, ["a", "b"]), (X * X, ["a"]), (-X * X, ["b"])):
        calls.clear()
        func.vmap(lambda x: cond(x > 0, noted("a"), noted("b"), x))(at)
        assert calls == ran


def test_a_compiled_branch_that_no_example_takes_does_not_run() -> None:
    factor = fg.linalg.cholesky
    f = fg.compile(lambda a: func.vmap(lambda a: cond(a[0, 0] > 0, factor, lambda a: a * 2, a))(a), fullgraph=True)
    a = fg.stack([fg.eye(2), -fg.eye(2)])
    for at in (a, -a, fg.stack([fg.eye(2), fg.eye(2)]), fg.stack([-fg.eye(2), -fg.eye(2)]), a):
        wanted = [factor(x) if x[0, 0] > 0 else x * 2 for x in at]
        np.testing.assert_array_equal(f(at), fg.stack(wanted))
    assert f.cache_info().hits == 4


def test_compiled_second_derivatives_of_branches_in_a_scan() -> None:
    rows, at = fg.linspace(0.0, 1.0, 70, dtype="float64"), X[:4]

    def last(w: Any, x: Any) -> Any:
        def step(c: Any, r: Any) -> Any:
            return cond(c > r, lambda c: fg.sqrt(w * (c - r)) + r, lambda c: w + c * 0.5, c), None

        return scan(step, x, rows)[0]

    second = func.grad(func.grad(lambda w: func.vmap(lambda x: last(w, x))(at).sum()))
    compiled = fg.compile(second, fullgraph=True)
    w = fg.tensor(1.0, dtype="float64")
    wanted = sum(func.grad(func.grad(last))(w, x).item() for x in at)
    for _ in range(2):
        assert np.isclose(compiled(w).item(), wanted, rtol=1e-10)


def test_one_of_several_branches() -> None:
    branches = [fg.sqrt, lambda x: fg.log(-x), lambda x: x * x, fg.exp]

    def f(i: Any, x: Any) -> Any:
        return func.switch(i, branches, x)

    indices, x = fg.tensor([0, 1, 3, 7, -2]), fg.tensor([4.0, -4.0, 0.25, -0.5, 9.0], dtype="float64")
    for g in (f, func.grad(f, 1), func.grad(func.grad(f, 1), 1)):
        wanted = [g(int(i), v).item() for i, v in zip(indices.tolist(), x, strict=True)]
        np.testing.assert_allclose(func.vmap(g)(indices, x), wanted)
        np.testing.assert_allclose([g(i, v).item() for i, v in zip(indices, x, strict=True)], wanted)
        compiled = fg.compile(func.vmap(g), fullgraph=True)
        for _ in range(2):
            np.testing.assert_allclose(compiled(indices, x), wanted)
    single = fg.compile(f, fullgraph=True)
    assert [round(single(fg.tensor(i), fg.tensor(4.0)).item(), 3) for i in (0, 2, 9, -1)] == [2.0, 16.0, 54.598, 2.0]
    assert single.cache_info().hits == 3
    assert func.switch(np.int64(2), branches, x[0]).item() == 16.0
    with pytest.raises(fg.ArgumentError, match="no branch"):
        func.switch(0, [], x)


def test_a_loop_ends_with_its_branch() -> None:
    assert func.vmap(branch_of_a_loop)(fg.tensor([4.0, -4.0])).tolist() == [1.0, -8.0]
    steps: list[int] = []

    def counted(y: Any) -> Any:
        steps.append(0)
        return y * 0.5

    def part(x: Any) -> Any:
        return cond(x > 0, lambda x: while_loop(lambda y: (y <= 0) | (y > 1), counted, x), lambda x: x, x)

    assert func.vmap(part)(fg.tensor([4.0, -4.0, 2.0])).tolist() == [1.0, -4.0, 1.0]
    assert len(steps) == 2


def test_writes_of_a_branch_are_those_of_the_examples_that_take_it() -> None:
    def f(x: Any) -> Any:
        y = x * 1

        def write() -> Any:
            y.add_(10)
            y[0] = 7
            y[1] += 1
            return y.sum()

        total = cond(x[0] > 0, write, lambda: y.sum())
        return total, y

    total, y = func.vmap(f)(fg.tensor([[1.0, 2.0], [-1.0, -2.0]]))
    assert total.tolist() == [20.0, -3.0]
    assert y.tolist() == [[7.0, 13.0], [-1.0, -2.0]]


def test_functions_of_the_user_meet_operands_of_examples_that_take_the_branch() -> None:
    class Root(fg.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return fg.sqrt(x)

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            (x,) = ctx.saved_tensors
            return g * 0.5 / fg.sqrt(x)

    def loss(w: Any) -> Any:
        return func.vmap(lambda x: cond(x > 0, lambda x: Root.apply(x) * Root.apply(w * x), lambda x: x, x))(X).sum()

    positive = X.numpy()[X.numpy() > 0]
    assert np.isclose(func.grad(loss)(fg.tensor(1.0, dtype="float64")).item(), 0.5 * positive.sum())
    slopes = func.vmap(func.grad(lambda x: cond(x > 0, Root.apply, lambda x: x, x)))(X)
    np.testing.assert_allclose(slopes, [0.5 / np.sqrt(x) if x > 0 else 1.0 for x in X.numpy()])


def test_gradients_inside_of_a_branch_by_tensors_from_outside() -> None:
    def f(x: Any) -> Any:
        y = x.detach().requires_grad_()
        return cond(x > 0, lambda: 1 / fg.grad(fg.sqrt(y), y), lambda: x * 3)

    np.testing.assert_allclose(func.vmap(f)(X), [2 * np.sqrt(x) if x > 0 else 3 * x for x in X.numpy()])


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16", "complex64", "complex128"])
def test_other_dtypes(dtype: str) -> None:
    x = fg.tensor([4.0, -4.0], dtype="float32").astype(dtype)

    def part(x: Any) -> Any:
        return fg.real(cond(fg.real(x) > 0, lambda x: fg.sqrt(x) / (x + 4), lambda x: x * 0, x))

    found = func.vmap(func.grad(part))(x)
    assert str(found.dtype) == dtype
    np.testing.assert_allclose(np.asarray(found.astype("complex128")), [0.25 / 8 - 2 / 64, 0.0], atol=1e-3)


def test_batches_without_examples_and_conditions_of_several_elements() -> None:
    assert func.vmap(root)(X[:0]).shape == (0,)
    assert func.vmap(func.grad(rooted))(X[:0]).shape == (0,)
    assert fg.compile(func.vmap(root))(X[:0]).shape == (0,)
    with pytest.raises(fg.ShapeError, match="one truth value"):
        func.vmap(lambda x: cond(x > 0, lambda x: x, lambda x: -x, x))(fg.ones((2, 3)))


@pytest.mark.parametrize("function", [fg.Function, torch.autograd.Function], ids=["native", "torch"])
def test_what_functions_of_the_user_write_is_written_for_the_examples_that_take_the_branch(function: Any) -> None:
    class Double(function):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            x.mul_(2)
            ctx.mark_dirty(x)
            return x

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return 2 * g

    def by(double: Any) -> Any:
        def f(x: Any) -> Any:
            y = 3 * x

            def write() -> Any:
                double(y)
                return y * y

            return cond(x > 0, write, lambda: x * 1) + y

        return f

    ours, theirs = by(Double.apply), by(lambda y: y.mul_(2))
    for derivative in (lambda f: f, func.grad, lambda f: lambda x: func.jvp(f, (x,), (x,))[1]):
        np.testing.assert_array_equal(func.vmap(derivative(ours))(X), func.vmap(derivative(theirs))(X))
