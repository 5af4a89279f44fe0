"""Functions of symmetric and Hermitian matrices, whose derivatives are right at equal eigenvalues, to any order."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import ferrograd as fg
import ferrograd.paddle as paddle
import ferrograd.torch as torch
import mpmath
import numpy as np
import pytest
import scipy.linalg
from ferrograd import func, testing

linalg: Any = fg.linalg

#: Each function of matrices, and that of numbers for mpmath.
FUNCTIONS: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "exp": (linalg.matrix_exph, mpmath.exp),
    "log": (linalg.matrix_logh, mpmath.log),
    "square root": (linalg.matrix_sqrth, mpmath.sqrt),
    "root as a power": (lambda x: linalg.matrix_powerh(x, 0.5), mpmath.sqrt),
    "inverse root": (linalg.matrix_inv_sqrth, lambda x: 1 / mpmath.sqrt(x)),
    "power 3": (lambda x: linalg.matrix_powerh(x, 3), lambda x: x**3),
    "power -1.7": (lambda x: linalg.matrix_powerh(x, -1.7), lambda x: x ** mpmath.mpf(-1.7)),
}


def hermitian(n: int, is_complex: bool, seed: int = 0) -> np.ndarray:
    generator = np.random.default_rng(seed)
    x = generator.normal(size=(n, n))
    if is_complex:
        x = x + 1j * generator.normal(size=(n, n))
    return x + x.conj().T


def divided(f: Callable[..., Any], points: list[Any]) -> Any:
    """The divided difference, with the derivative of ``f`` where points are equal."""
    first, last = points[0], points[-1]
    if first == last:
        return mpmath.diff(f, first, len(points) - 1) / mpmath.factorial(len(points) - 1)
    return (divided(f, points[1:]) - divided(f, points[:-1])) / (last - first)


def derivative(f: Callable[..., Any], w: list[float], e: np.ndarray, order: int) -> np.ndarray:
    """The derivative of a function of ``diag(w) + t e`` by ``t`` at 0, for rising ``w``."""
    n = len(w)
    with mpmath.workdps(130):
        known = {
            places: divided(f, [mpmath.mpf(w[i]) for i in places])
            for places in itertools.combinations_with_replacement(range(n), order + 1)
        }
        total = np.zeros((n, n), complex)
        for places in itertools.product(range(n), repeat=order + 1):
            part = np.prod([e[i, j] for i, j in itertools.pairwise(places)]) if order else float(len(set(places)) == 1)
            total[places[0], places[-1]] += complex(known[tuple(sorted(places))]) * part
        return total * float(mpmath.factorial(order))


VALUES = [
    [1.0, 1.0, 1.0],
    [2.0, 2.0, 5.0],
    [1.0, 1.0 + 1e-15, 1.0 + 3e-15],
    [0.5, 0.5 + 1e-9, 0.5 + 1e-7],
    [1e-3, 1.0, 1.2],
    [0.1, 0.12, 0.13],
]


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("w", VALUES, ids=str)
@pytest.mark.parametrize("is_complex", [False, True])
def test_derivatives_at_equal_eigenvalues(name: str, w: list[float], is_complex: bool) -> None:
    ours, theirs = FUNCTIONS[name]
    e, c = hermitian(3, is_complex), hermitian(3, is_complex, 1)
    direction, weight = fg.tensor(e), fg.tensor(c)

    def along(t: Any) -> Any:
        return fg.real((ours(fg.tensor(np.diag(w)) + t * direction) * weight).sum())

    f, t = along, fg.tensor(0.0, dtype="float64")
    for order in range(1, 5):
        tangent = func.jvp(f, (t,), (fg.ones_like(t),))[1] if order < 3 else None
        f = func.grad(f)
        parts = derivative(theirs, w, e, order) * c
        for found in [f(t)] + ([tangent] if tangent is not None else []):
            # The sum may cancel; the digits are those of its largest terms.
            assert abs(found.item() - parts.sum().real) <= 1e-9 * np.abs(parts).max()


@pytest.mark.parametrize("is_complex", [False, True])
def test_values_and_derivatives_of_batches(is_complex: bool) -> None:
    x = np.stack([hermitian(4, is_complex, seed) for seed in range(3)])
    x = x @ x + np.eye(4)
    theirs = {
        "exp": scipy.linalg.expm,
        "log": scipy.linalg.logm,
        "root as a power": scipy.linalg.sqrtm,
        "inverse root": lambda part: np.linalg.inv(scipy.linalg.sqrtm(part)),
        "power 3": lambda part: part @ part @ part,
    }
    for name, f in theirs.items():
        ours = FUNCTIONS[name][0]
        found = ours(fg.tensor(x))
        assert found.dtype == x.dtype
        np.testing.assert_allclose(found, [f(part) for part in x], rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(func.vmap(ours)(fg.tensor(x)), found, rtol=1e-10)
        narrow = ours(fg.tensor(x.astype("complex64" if is_complex else "float32") / 10))
        np.testing.assert_allclose(narrow, [f(part / 10) for part in x], rtol=2e-3, atol=2e-3)
    near = fg.tensor(np.eye(2) + 0.1 * x[0, :2, :2], requires_grad=True)
    testing.check(linalg.matrix_logh, (near,), order=2)
    testing.check(lambda x: linalg.matrix_powerh(x, -0.5), (near,), order=2)


@pytest.mark.parametrize("name", ["exp", "log", "root as a power", "inverse root"])
def test_compiled_and_batched_gradients(name: str) -> None:
    ours = FUNCTIONS[name][0]

    def loss(x: Any) -> Any:
        return (ours(x) * fg.tensor([[1.0, 2.0], [2.0, -1.0]], dtype="float64")).sum()

    x = fg.stack([fg.eye(2, dtype="float64"), fg.tensor([[2.0, 1.0], [1.0, 3.0]], dtype="float64")])
    for f in (func.grad(loss), func.hessian(loss), func.jacrev(func.grad(loss))):
        wanted = fg.stack([f(part) for part in x])
        np.testing.assert_allclose(func.vmap(f)(x), wanted, rtol=1e-10, atol=1e-12)
        compiled = fg.compile(f)
        for part, want in zip([x[0], x[1], x[0]], [wanted[0], wanted[1], wanted[0]], strict=True):
            np.testing.assert_allclose(compiled(part), want, rtol=1e-12, atol=1e-14)
    np.testing.assert_array_equal(func.grad(lambda x: ours(x).sum())(fg.eye(3)).numpy() > 0, name != "inverse root")


def test_gradients_are_symmetric_and_read_the_symmetric_part() -> None:
    x = fg.tensor([[2.0, 0.5], [0.0, 2.0]], dtype="float64")
    g = func.grad(lambda x: linalg.matrix_logh(x)[0, 1])(x)
    np.testing.assert_allclose(g, g.T)
    np.testing.assert_allclose(linalg.matrix_logh(x), linalg.matrix_logh((x + x.T) / 2))


@pytest.mark.parametrize("ops", [torch, paddle])
def test_tensors_of_dialects(ops: Any) -> None:
    x = ops.eye(3)
    for name in ("matrix_logh", "matrix_exph", "matrix_inv_sqrth"):
        assert type(getattr(linalg, name)(x)) is type(x)


def test_borders() -> None:
    assert linalg.matrix_logh(fg.zeros((2, 0, 0))).shape == (2, 0, 0)
    assert linalg.matrix_logh(fg.zeros((0, 3, 3))).shape == (0, 3, 3)
    half = linalg.matrix_exph(fg.zeros((2, 2)).astype("float16"))
    assert (str(half.dtype), half.tolist()) == ("float16", [[1.0, 0.0], [0.0, 1.0]])
    assert linalg.matrix_exph(fg.tensor([[0, 1], [1, 0]])).dtype == fg.get_default_dtype()
    view = fg.tensor(np.arange(9.0).reshape(3, 3)).T[:2, :2]
    np.testing.assert_allclose(linalg.matrix_exph(view), linalg.matrix_exph(view.clone()))
    # A root of a matrix without full rank, whose eigenvalues may be rounded below 0.
    x = np.outer([1.0, 2.0, 3.0], [1.0, 2.0, 3.0])
    found = linalg.matrix_powerh(fg.tensor(x), 0.5).numpy()
    np.testing.assert_allclose(found @ found, x, atol=1e-12)
    assert np.isnan(linalg.matrix_logh(fg.tensor([[-1.0]])).item())
    assert np.isnan(linalg.matrix_powerh(fg.tensor([[-1.0]]), 0.5).item())
    assert linalg.matrix_powerh(fg.tensor([[-2.0]]), 3).item() == -8.0
    assert linalg.matrix_powerh(fg.zeros((2, 2)), 2).tolist() == [[0.0, 0.0], [0.0, 0.0]]
    squared = func.grad(lambda x: linalg.matrix_powerh(x, 2).sum())(fg.zeros((2, 2)))
    assert squared.tolist() == [[0.0, 0.0], [0.0, 0.0]]
    for shape in ((2, 3), (2,)):
        with pytest.raises(fg.ShapeError, match="square matrices"):
            linalg.matrix_powerh(fg.ones(shape), 2)
    with pytest.raises(fg.ArgumentError, match="p is a number"):
        linalg.matrix_powerh(fg.eye(2), fg.tensor(2.0))
