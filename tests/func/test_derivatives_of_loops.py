"""Derivatives of loops are loops: of any order, in every mix of modes and batches, and as long as the loop."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import ferrograd as fg
import numpy as np
import pytest
from ferrograd import func
from ferrograd._kit import tree as _tree
from ferrograd.func import cond, grad, hessian, jacfwd, jacrev, jvp, scan, vjp, vmap

#: Enough steps for a loop that is one node.
N = 66


def numbers(seed: int, *shape: int) -> Any:
    return fg.tensor(np.random.default_rng(seed).normal(size=shape))


ROWS = 0.5 * numbers(0, N, 3)
MATRIX = 0.3 * numbers(1, 3, 3)
ONES = fg.ones(3, dtype="float64")
P = numbers(2, 3)


def by_steps(f: Any, init: Any, xs: Any = None, length: int = N, reverse: bool = False, **_: Any) -> Any:
    """The scan as a loop in Python."""
    carry, ys = init, {}
    for t in reversed(range(length)) if reverse else range(length):
        carry, ys[t] = f(carry, None if xs is None else xs[t])
    return carry, fg.stack([ys[t] for t in range(length)])


def step(p: Any) -> Any:
    return lambda c, x: (0.9 * c + 0.1 * fg.sin(p * c) * x, c * x + p)


#: By name: a path of a parameter, which the loop begins with, goes along or closes over.
PATHS: dict[str, Callable[[Any, Any], Any]] = {
    "closed over": lambda scan, p: scan(step(p), ONES, ROWS)[1],
    "in a matrix product": lambda scan, p: scan(lambda c, x: (fg.tanh((MATRIX * p) @ c + x), c * c.sum()), p, ROWS)[1],
    "of the last carry": lambda scan, p: fg.stack([scan(step(p), p, ROWS)[0], p]),
    "along the columns, backwards": lambda scan, p: scan(step(ONES), p, ROWS * p, reverse=True)[1],
    "checkpointed": lambda scan, p: scan(step(p), p, ROWS * p, checkpoint=10)[1],
    "that arrives later": lambda scan, p: scan(
        lambda c, x: ((x, c[0], c[1]), fg.sqrt(abs(c[2]) + 1) * c[0]), (p, 0 * p + 2, 0 * p + 3), ROWS * p
    )[1],
    "beside a count": lambda scan, p: scan(
        lambda c, x: ((c[0] + 1, 0.9 * c[1] + fg.sin(c[0] * p)), c[1]), (fg.tensor(0), p), None, N
    )[1],
    "with a gradient inside": lambda scan, p: scan(
        lambda c, x: (0.5 * c + grad(lambda w: (fg.sin(w * c) * x * w).sum())(p), c), p, ROWS
    )[1],
    "with a branch": lambda scan, p: scan(
        lambda c, x: (cond(x.sum() > 0, lambda c: 0.9 * c + fg.sin(p * x), lambda c: fg.cos(c * p), c), c), p, ROWS
    )[1],
}


def squares(f: Any) -> Any:
    return lambda p: (f(p) ** 2).sum()


def pairs(p: Any) -> Any:
    return fg.stack([p, 2 * p])


def last(f: Any) -> Any:
    return lambda p: f(p)[-2:]


#: By name: derivatives of a path.
DERIVATIVES: dict[str, Callable[[Any], Any]] = {
    "jacrev": jacrev,
    "jacfwd": jacfwd,
    "hessian": lambda f: hessian(last(f)),
    "jacrev of jacfwd": lambda f: jacrev(jacfwd(last(f))),
    "jacrev of jacrev": lambda f: jacrev(jacrev(last(f))),
    "jacfwd of jacfwd": lambda f: jacfwd(jacfwd(last(f))),
    "grad of vmap of grad": lambda f: grad(lambda p: (vmap(grad(squares(f)))(pairs(p)) ** 2).sum()),
    "vmap of hessian": lambda f: lambda p: vmap(hessian(squares(f)))(pairs(p)),
    "vmap of products": lambda f: lambda p: vmap(
        lambda v: grad(lambda x: (grad(squares(f))(x) * v).sum())(p)
    )(pairs(p)),
    "vmap of products forward": lambda f: lambda p: vmap(
        lambda v: jvp(lambda x: fg.sin(vjp(last(f), x)[1](fg.stack([v, v]))[0]), (p,), (v,))[1]
    )(pairs(p)),
}  # fmt: skip


@pytest.mark.parametrize("derivative", DERIVATIVES)
@pytest.mark.parametrize("path", PATHS)
def test_they_are_those_of_the_steps(path: str, derivative: str) -> None:
    ours, theirs = (DERIVATIVES[derivative](lambda p, run=run: PATHS[path](run, p)) for run in (scan, by_steps))
    assert np.allclose(ours(P), theirs(P), rtol=1e-8, atol=1e-10)


def curve(length: int) -> Any:
    xs = fg.linspace(0.0, 1.0, length)
    return lambda p: scan(lambda c, x: (c + 0.01 * fg.sin(p * c) * x, c * x), fg.ones(2), xs)[1]


@pytest.mark.parametrize(
    "derivative",
    [jacrev, jacfwd, hessian, lambda f: jacrev(jacrev(f)), lambda f: hessian(squares(f))],
    ids=["jacrev", "jacfwd", "hessian", "jacrev of jacrev", "hessian of a number"],
)
def test_a_compiled_one_has_as_many_ops_at_every_length(derivative: Any) -> None:
    counts = set()
    for length in (64, 80):
        compiled = fg.compile(derivative(curve(length)), fullgraph=True)
        assert np.array_equal(compiled(fg.ones(2)), derivative(curve(length))(fg.ones(2)))
        counts.add(int(compiled.explain().split()[3]))
    assert len(counts) == 1, counts
    assert max(counts) < 500


def test_columns_that_need_no_gradient_get_none() -> None:
    """What is pulled back for each row of a Jacobian is a column of the loop back, and its gradient would be large."""
    second = fg.compile(jacrev(jacrev(curve(128))), fullgraph=True)
    second(fg.ones(2))
    kept = re.search(r"at most ([\d,]+) bytes of values", second.explain())
    assert kept is not None
    # A row of the Jacobian for each cotangent of each row takes 1 MB in single precision.
    assert int(kept[1].replace(",", "")) < 10 << 20

    def last(w: Any, column: Any) -> Any:
        return scan(lambda c, x: (fg.sin(c * w + x), c), fg.tensor(0.1), column)[0]

    given = fg.tensor([0.5, 0.25, -1.0] * 22, requires_grad=True)
    for column, needed in [(given, True), (given.detach(), False)]:
        w = fg.tensor(2.0, requires_grad=True)
        found = fg.grad(last(w, column), [w, given], create_graph=True, allow_unused=True)
        assert (found[1] is not None) == needed
        again = fg.grad(found[0], [w, given], allow_unused=True)
        assert again[0] is not None
        assert (again[1] is not None) == needed


def test_a_hundred_examples_share_what_they_do_not_differ_in() -> None:
    """A Jacobian of many rows keeps the carries of the loop once, not once for each row."""
    path = curve(64)
    found = hessian(lambda p: fg.concat([path(p), 2 * path(p)]))(fg.ones(2))
    assert np.allclose(found[64:], 2 * found[:64])


@pytest.mark.parametrize("dtype", ["float32", "complex64", "complex128"])
def test_complex_numbers_and_single_precision(dtype: str) -> None:
    rows, p = (x.astype(dtype) for x in (ROWS, P))
    p = p * 1j if dtype.startswith("complex") else p
    tolerance = 1e-10 if dtype == "complex128" else 1e-4

    def path(run: Any) -> Any:
        return lambda p: run(lambda c, x: (0.9 * c + 0.1 * fg.sin(p * c) * x, c * x), p, rows)[1][-2:]

    derivatives: list[Callable[[Any], Any]] = [
        lambda f: jvp(f, (p,), (p,))[1],
        lambda f: vmap(lambda g: vjp(f, p)[1](g)[0])(fg.stack([f(p)] * 2)),
        lambda f: jacfwd(f)(p),
    ]
    for derivative in derivatives:
        assert np.allclose(derivative(path(scan)), derivative(path(by_steps)), rtol=tolerance, atol=tolerance)


def test_structures_with_several_levels_of_vmap() -> None:
    def path(p: Any, x: Any, run: Any) -> Any:
        last, ys = run(lambda c, r: ({"a": c["b"] * p, "b": fg.sin(c["a"] + r * x)}, c["a"]), {"a": p, "b": x}, ROWS)
        return _tree.leaves(last)[0] + ys[-1]

    def nested(run: Any) -> Any:
        inner = vmap(lambda p: vmap(lambda x: jacrev(lambda p: path(p, x, run))(p))(pairs(P)))
        return jacfwd(lambda p: inner(pairs(p)))(P)

    assert np.allclose(nested(scan), nested(by_steps), rtol=1e-8, atol=1e-10)
    of_all = func.hessian(lambda p: vmap(lambda x: path(p, x, scan))(pairs(P)).sum())(P)
    assert np.allclose(of_all, func.hessian(lambda p: vmap(lambda x: path(p, x, by_steps))(pairs(P)).sum())(P))
