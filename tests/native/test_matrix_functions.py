"""Functions of matrices under SciPy's names, against SciPy."""

from collections.abc import Callable
from typing import Any

import ferrograd as fg
import numpy as np
import pytest
import scipy.linalg
from ferrograd import testing


def positive(*lead: int, n: int = 3, is_complex: bool = False) -> np.ndarray:
    """Matrices that are not symmetric, with eigenvalues to the right of zero."""
    generator = np.random.default_rng(n)
    x = generator.normal(size=(*lead, n, n))
    if is_complex:
        x = x + 1j * generator.normal(size=x.shape)
    return x @ x.conj().swapaxes(-1, -2) / n + np.eye(n) + 0.1 * generator.normal(size=x.shape)


FUNCTIONS = [
    (fg.linalg.expm, scipy.linalg.expm),
    (fg.linalg.logm, scipy.linalg.logm),
    (fg.linalg.sqrtm, scipy.linalg.sqrtm),
]


@pytest.mark.parametrize(("ours", "theirs"), FUNCTIONS, ids=["expm", "logm", "sqrtm"])
@pytest.mark.parametrize("is_complex", [False, True])
def test_functions_of_matrices(ours: Callable[..., Any], theirs: Callable[..., Any], is_complex: bool) -> None:
    for n in (1, 3, 12):
        x = positive(2, n=n, is_complex=is_complex)
        found = ours(fg.tensor(x))
        assert found.dtype == x.dtype
        np.testing.assert_allclose(found, [theirs(part) for part in x], rtol=1e-10, atol=1e-12)
    single = ours(fg.tensor(x[0].astype(np.complex64 if is_complex else np.float32)))
    np.testing.assert_allclose(single, theirs(x[0]), rtol=1e-3, atol=1e-4)
    assert ours(fg.zeros((2, 0, 0))).shape == (2, 0, 0)
    testing.check(ours, (fg.tensor(positive(n=2, is_complex=is_complex), requires_grad=True),))


@pytest.mark.parametrize("function", [fg.linalg.logm, fg.linalg.sqrtm])
def test_functions_of_matrices_in_vmap(function: Callable[..., Any]) -> None:
    """The steps are those that the whole batch needs."""
    x = fg.tensor(np.stack([positive(), 100 * positive(), np.eye(3)]))
    np.testing.assert_allclose(fg.func.vmap(function)(x), function(x), rtol=1e-12)
    inner = fg.func.vmap(fg.func.vmap(function), in_axes=2)(fg.tensor(np.stack([x, x], 2)))
    np.testing.assert_allclose(inner[1], function(x), rtol=1e-12)
    slopes = fg.func.vmap(fg.func.grad(lambda part: function(part).sum()))(x)
    want = [fg.func.grad(lambda part: function(part).sum())(part) for part in x]
    np.testing.assert_allclose(slopes, fg.stack(want), rtol=1e-9)
    with pytest.raises(fg.LinAlgError, match=function.__name__):
        fg.func.vmap(function)(fg.tensor([[[-1.0]], [[1.0]]]))


def test_roots_of_matrices_of_all_sizes_and_of_defective_ones() -> None:
    for size in (1e-30, 1e30):
        x = fg.tensor(positive() * size)
        root = fg.linalg.sqrtm(x)
        np.testing.assert_allclose(root @ root, x, rtol=1e-10)
        np.testing.assert_allclose(fg.linalg.expm(fg.linalg.logm(x)), x, rtol=1e-10)
    for matrix in ([[2.0, 1.0], [0.0, 2.0]], [[0.0, 1.0], [-1.0, 0.0]]):
        np.testing.assert_allclose(
            fg.linalg.logm(fg.tensor(matrix, dtype="float64")), scipy.linalg.logm(matrix), atol=1e-13
        )


@pytest.mark.parametrize("x", [[[0.0]], [[-1.0]], [[np.nan]], [[0.0, 1.0], [0.0, 0.0]]])
def test_matrices_without_a_principal_root(x: list[list[float]]) -> None:
    for function in (fg.linalg.sqrtm, fg.linalg.logm):
        with pytest.raises(fg.LinAlgError, match=function.__name__):
            function(fg.tensor(x))


def test_equations_of_sylvester() -> None:
    generator = np.random.default_rng(0)
    a, b, q = generator.normal(size=(2, 1, 4, 4)), generator.normal(size=(3, 2, 2)), generator.normal(size=(4, 2))
    x = fg.linalg.solve_sylvester(fg.tensor(a), fg.tensor(b), fg.tensor(q))
    assert x.shape == (2, 3, 4, 2)
    np.testing.assert_allclose(a @ x.numpy() + x.numpy() @ b, np.broadcast_to(q, x.shape), atol=1e-10)
    np.testing.assert_allclose(x[0, 0], scipy.linalg.solve_sylvester(a[0, 0], b[0], q), atol=1e-10)
    testing.check(fg.linalg.solve_sylvester, tuple(fg.tensor(v, requires_grad=True) for v in (a[0, 0], b[0], q)))
    with pytest.raises(fg.LinAlgError):
        fg.linalg.solve_sylvester(fg.ones((1, 1)), -fg.ones((1, 1)), fg.ones((1, 1)))
    with pytest.raises(fg.ShapeError, match="solve_sylvester"):
        fg.linalg.solve_sylvester(fg.ones((1, 1)), fg.ones((1, 1)), fg.ones((1, 2)))


def test_equations_of_lyapunov() -> None:
    generator = np.random.default_rng(1)
    a, q = generator.normal(size=(3, 3)) + 1j * generator.normal(size=(3, 3)), generator.normal(size=(3, 3))
    x = fg.linalg.solve_continuous_lyapunov(fg.tensor(a), fg.tensor(q))
    np.testing.assert_allclose(x, scipy.linalg.solve_continuous_lyapunov(a, q), atol=1e-12)
