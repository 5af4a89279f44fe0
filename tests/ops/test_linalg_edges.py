"""Factorisations multiplied back, singular and degenerate matrices, empty matrices, batches and errors."""

import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any, Literal

import ferrograd as fg
import ferrograd.torch as torch
import numpy as np
import pytest
import scipy.linalg
from ferrograd import func

from tests.check import run

MATRICES = [(4, 4), (5, 3), (3, 5), (2, 3, 3), (2, 0, 3, 3), (0, 0), (3, 0), (0, 3), (1, 1)]


def normal(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=shape)


def t(x: Any) -> np.ndarray:
    return np.swapaxes(np.asarray(x), -1, -2)


def near(got: Any, want: Any, tol: float = 1e-12) -> None:
    np.testing.assert_allclose(np.asarray(got), want, rtol=tol, atol=tol)


def orthonormal(q: Any) -> None:
    q = np.asarray(q)
    near(t(q) @ q, np.broadcast_to(np.eye(q.shape[-1]), (*q.shape[:-2], q.shape[-1], q.shape[-1])))


@pytest.mark.parametrize("shape", MATRICES)
@pytest.mark.parametrize("mode", ["reduced", "complete"])
def test_qr_multiplies_back_to_the_matrix(shape: tuple[int, ...], mode: Literal["reduced", "complete"]) -> None:
    x = normal(*shape)
    q, r = fg.linalg.qr(x, mode=mode)
    want = np.linalg.qr(x, mode=mode)
    assert (q.shape, r.shape) == (want[0].shape, want[1].shape)
    near(np.asarray(q) @ np.asarray(r), x)
    orthonormal(q)
    near(r, np.triu(r))
    assert not np.signbit(np.tril(r, -1)).any()


@pytest.mark.parametrize("shape", MATRICES)
@pytest.mark.parametrize("full", [True, False])
def test_svd_multiplies_back_to_the_matrix(shape: tuple[int, ...], full: bool) -> None:
    x = normal(*shape)
    u, s, vh = map(np.asarray, fg.linalg.svd(x, full_matrices=full))
    want = np.linalg.svd(x, full_matrices=full)
    assert [u.shape, s.shape, vh.shape] == [w.shape for w in want]
    k = s.shape[-1]
    near((u[..., :k] * s[..., None, :]) @ vh[..., :k, :], x)
    near(s, want[1])
    orthonormal(u)
    orthonormal(t(vh))
    near(fg.linalg.svdvals(x), want[1])


@pytest.mark.parametrize("shape", [(4, 4), (2, 3, 3), (0, 0), (3, 0, 2, 2), (1, 1)])
@pytest.mark.parametrize("uplo", ["L", "U"])
def test_eigh_reads_one_triangle(shape: tuple[int, ...], uplo: str) -> None:
    x = normal(*shape)
    part = np.tril(x) + t(np.tril(x, -1)) if uplo == "L" else np.triu(x) + t(np.triu(x, 1))
    w, v = map(np.asarray, fg.linalg.eigh(x, UPLO=uplo))
    near((v * w[..., None, :]) @ t(v), part)
    orthonormal(v)
    near(w, np.linalg.eigvalsh(part))
    near(fg.linalg.eigvalsh(x, UPLO=uplo), w)


@pytest.mark.parametrize("n", [40, 200])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_larger_matrices(n: int, dtype: Any) -> None:
    x = normal(n, n).astype(dtype)
    tol = 2000 * np.finfo(dtype).eps
    inverse = fg.linalg.inv(x)
    assert inverse.dtype == dtype
    near(np.asarray(inverse) @ x, np.eye(n), 100 * tol)
    u, s, vh = map(np.asarray, fg.linalg.svd(x))
    near((u * s) @ vh, x, tol)
    sign, log = fg.linalg.slogdet(x)
    near(sign.item() * 1.0, np.linalg.slogdet(x)[0])
    near(log.item(), np.linalg.slogdet(x.astype(np.float64))[1], tol)


@pytest.mark.parametrize("f", [fg.linalg.det, fg.linalg.inv, fg.linalg.cholesky, fg.linalg.slogdet])
def test_empty_matrices(f: Callable[..., Any]) -> None:
    numpy: Any = getattr(np.linalg, f.__name__)
    for shape in [(0, 0), (2, 0, 0), (0, 3, 3)]:
        got, want = f(np.zeros(shape)), numpy(np.zeros(shape))
        for g, w in zip(got, want, strict=True) if isinstance(got, tuple) else [(got, want)]:
            assert g.shape == w.shape
            near(g, w)


def second(f: Callable[[Any], Any], x: np.ndarray, direction: np.ndarray) -> np.ndarray:
    """The second derivative of a scalar function along a direction."""
    leaf = fg.tensor(x, requires_grad=True)
    (g,) = run([f(leaf)], [leaf], create_graph=True)
    (h,) = run([(g * fg.tensor(direction)).sum()], [leaf])
    return np.asarray(h)


def test_the_second_derivative_of_a_determinant_that_is_zero() -> None:
    e = normal(3, 3, seed=1)
    for x in (np.zeros((3, 3)), np.diag([1.0, 0, 0]), np.diag([1.0, 2, 0]), np.ones((3, 3)), np.diag([1e-9, 1, 1e3])):
        step = 1e-4 * max(1.0, np.abs(x).max())

        def cofactors(m: np.ndarray) -> np.ndarray:
            minor = [[np.delete(np.delete(m, i, 0), j, 1) for j in range(3)] for i in range(3)]
            return np.array([[(-1) ** (i + j) * np.linalg.det(minor[i][j]) for j in range(3)] for i in range(3)])

        leaf = fg.tensor(x, requires_grad=True)
        near(run([fg.linalg.det(leaf)], [leaf])[0], cofactors(x), 1e-9)
        want = (cofactors(x + step * e) - cofactors(x - step * e)) / (2 * step)
        near(second(fg.linalg.det, x, e), want, 1e-6)


def test_the_determinant_of_a_singular_matrix_in_single_precision() -> None:
    x = fg.tensor(np.array([[1, 2], [2, 4]], np.float32), requires_grad=True)
    y = fg.linalg.det(x)
    assert y.item() == 0.0
    near(run([y], [x])[0], [[4, -2], [-2, 1]], 1e-5)


@pytest.mark.parametrize("values", [(1.0, 1.0, 1.0), (2.0, 2.0, 5.0), (0.0, 0.0, 0.0), (-1.0, 1.0, 1.0)])
def test_functions_of_equal_eigenvalues_have_gradients(values: tuple[float, ...]) -> None:
    q = np.linalg.qr(normal(3, 3))[0]
    x = (q * np.array(values)) @ q.T
    x = (x + x.T) / 2
    leaf = fg.tensor(x, requires_grad=True)
    for w in (fg.linalg.eigvalsh(leaf), fg.linalg.eigh(leaf)[0]):
        near(run([(w * w).sum()], [leaf])[0], 2 * x)
        near(run([fg.exp(w).sum()], [leaf])[0], (q * np.exp(values)) @ q.T)
    # The function is the sum of squares, so its second derivative along the matrix is twice the matrix.
    near(second(lambda a: (fg.linalg.eigvalsh(a) ** 2).sum(), x, x), 2 * x, 1e-10)


@pytest.mark.parametrize("values", [(1.0, 1.0, 1.0), (3.0, 2.0, 2.0), (2.0, 0.0, 0.0)])
def test_functions_of_equal_singular_values_have_gradients(values: tuple[float, ...]) -> None:
    u, v = np.linalg.qr(normal(4, 3))[0], np.linalg.qr(normal(3, 3, seed=1))[0]
    x = (u * np.array(values)) @ v.T
    leaf = fg.tensor(x, requires_grad=True)
    s = fg.linalg.svdvals(leaf)
    near(run([(s * s).sum()], [leaf])[0], 2 * x)
    near(second(lambda a: (fg.linalg.svdvals(a) ** 2).sum(), x, x), 2 * x, 1e-10)


def test_unused_factors_have_no_gradient() -> None:
    x = fg.tensor(normal(3, 3), requires_grad=True)
    for outs in (fg.linalg.qr(x), fg.linalg.svd(x), fg.linalg.eigh(x), fg.linalg.slogdet(x)):
        for out in outs:
            assert np.isfinite(np.asarray(run([out.sum()], [x])[0])).all()


def test_rules_do_not_raise() -> None:
    x = fg.tensor(np.ones((3, 3)), requires_grad=True)
    q, r = fg.linalg.qr(x)
    assert np.isnan(np.asarray(run([q.sum() + r.sum()], [x])[0])).any()
    assert np.isnan(np.asarray(run([fg.linalg.slogdet(x)[1]], [x])[0])).any()


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_matrix_that_is_not_finite_has_results_of_nan(bad: float) -> None:
    x = np.array([np.eye(3), np.eye(3)])
    x[1, 1, 0] = bad
    linalg: Any = fg.linalg
    for f in (linalg.inv, linalg.det, linalg.cholesky, linalg.eigvalsh, linalg.svdvals, linalg.logdet):
        y = np.asarray(f(x))
        assert np.isfinite(y[0]).all()
        assert np.isnan(y[1]).all()
    for f in (linalg.qr, linalg.svd, linalg.eigh, linalg.slogdet):
        for y in f(x):
            assert np.isfinite(np.asarray(y)[0]).all()
            assert np.isnan(np.asarray(y)[1]).any()


SINGULAR = np.array([[np.eye(2), np.eye(2)], [np.eye(2), np.ones((2, 2))]])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: fg.linalg.inv(np.ones((2, 2))), r"linalg.inv: the matrix is singular"),
        (lambda: fg.linalg.inv(SINGULAR), r"linalg.inv: the matrix at \[1, 1\] of the batch is singular"),
        (
            lambda: fg.linalg.solve(SINGULAR, np.ones(2)),
            r"linalg.solve: the matrix at \[1, 1\] of the batch is singular",
        ),
        (lambda: fg.linalg.cholesky(-np.eye(2)), r"linalg.cholesky: the matrix is not positive definite"),
        (lambda: fg.linalg.solve_triangular(np.diag([1.0, 0]), np.eye(2)), r"has a zero on its diagonal"),
        (lambda: fg.linalg.matrix_power(np.zeros((2, 2)), -1), r"is singular"),
    ],
)
def test_singular_matrices_are_refused(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(fg.LinAlgError, match=message):
        call()


@pytest.mark.parametrize(
    "call",
    [
        lambda: fg.linalg.inv(np.ones((2, 3))),
        lambda: fg.linalg.det(np.ones(3)),
        lambda: fg.linalg.svd(np.ones(())),
        lambda: fg.linalg.solve(np.eye(3), np.ones(2)),
        lambda: fg.linalg.solve(np.ones((2, 3, 3)), np.ones((5, 3, 1))),
        lambda: fg.linalg.cholesky_solve(np.ones((2, 1)), np.eye(3)),
        lambda: fg.linalg.solve_triangular(np.eye(2), np.ones((3, 1))),
    ],
)
def test_shapes_that_do_not_fit_are_refused(call: Callable[[], Any]) -> None:
    with pytest.raises(fg.ShapeError):
        call()


def test_string_arguments_are_checked() -> None:
    with pytest.raises(fg.ArgumentError, match="UPLO"):
        fg.linalg.eigh(np.eye(2), UPLO="X")
    with pytest.raises(fg.ArgumentError, match="mode"):
        fg.linalg.qr(np.eye(2), mode="full")


def test_integers_are_taken_as_the_default_float() -> None:
    assert fg.linalg.inv(np.array([[2, 0], [0, 4]])).dtype == np.float32
    assert fg.linalg.solve(np.array([[2]]), np.array([4])).dtype == np.float32


THREADS = """
import os
import ferrograd as fg
import numpy as np

def threads():
    return {t: open(f"/proc/self/task/{t}/comm").read().strip() for t in os.listdir("/proc/self/task")}

before = threads()
x = np.random.default_rng(0).normal(size=(4, 120, 120))
for f in (fg.linalg.inv, fg.linalg.svd, fg.linalg.eigh, fg.linalg.qr, fg.linalg.det):
    f(x)
    f(np.random.default_rng(0).normal(size=(300, 300)))
fg.matmul(x, x)
made = [name for task, name in threads().items() if task not in before]
assert made, "the batch was to be worked on in parallel"
assert all(name.startswith("ferrograd") for name in made), made
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="threads are listed in /proc")
def test_no_threads_are_started_outside_the_pool() -> None:
    environment = {**os.environ, "FERROGRAD_NUM_THREADS": "2"}
    done = subprocess.run([sys.executable, "-c", THREADS], capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("dtype", "sizes"),
    [(np.float32, (1e-40, 1e-25, 1.0, 2e19, 1e38)), (np.float64, (1e-310, 1e-170, 1.0, 1e154, 1e308))],
)
def test_singular_values_and_eigenvalues_of_any_size(dtype: Any, sizes: tuple[float, ...]) -> None:
    """Squares of the elements would overflow or underflow."""
    for size in sizes:
        x = np.array([[1, 0.5], [0.5, 0.25]], dtype) * dtype(size)
        largest = float(x[0, 0]) * 1.25
        tolerance = 1e-3 if size in (1e-40, 1e-310) else 1e-5
        np.testing.assert_allclose(fg.linalg.svdvals(x).numpy()[0], largest, rtol=tolerance)
        np.testing.assert_allclose(fg.linalg.svd(x)[1].numpy()[0], largest, rtol=tolerance)
        np.testing.assert_allclose(fg.linalg.eigvalsh(x).numpy()[1], largest, rtol=tolerance)
        np.testing.assert_allclose(fg.linalg.matrix_norm(x, 2).item(), largest, rtol=tolerance)


def test_pseudoinverses_of_deficient_rank() -> None:
    x = np.outer([1.0, 2, 3], [1.0, -1])
    np.testing.assert_allclose(fg.linalg.pinv(x).numpy(), np.linalg.pinv(x), atol=1e-15)
    assert fg.linalg.matrix_rank(x).item() == 1
    assert fg.linalg.matrix_rank(np.zeros((0, 3))).item() == 0
    z, left, rank, _ = fg.linalg.lstsq(x, np.array([1.0, 0, 0]))
    np.testing.assert_allclose(z.numpy(), np.linalg.lstsq(x, np.array([1.0, 0, 0]), rcond=None)[0], atol=1e-15)
    assert (left.shape, rank.item()) == ((0,), 1)


@pytest.mark.parametrize("number", [np.nan, np.inf])
def test_ranks_of_numbers_that_are_none_are_refused(number: float) -> None:
    x = fg.tensor([[1.0, number], [0.0, 1.0]])
    match = "singular values that are NaN"
    with pytest.raises(fg.LinAlgError, match=match):
        fg.linalg.matrix_rank(x)
    with pytest.raises(fg.LinAlgError, match=match):
        func.vmap(fg.linalg.matrix_rank)(fg.stack([fg.eye(2), x]))
    with pytest.raises(fg.LinAlgError, match=match):
        fg.torch.linalg.matrix_rank(fg.torch.tensor([[1j, number], [0.0, 1.0]]))
    rank = fg.compile(fg.linalg.matrix_rank)
    assert rank(fg.eye(2)).item() == 2
    with pytest.raises(fg.LinAlgError, match=match):
        rank(x)


def test_ranks_of_hermitian_matrices_read_the_lower_triangle() -> None:
    x = np.array([[1.0, 9.0], [1.0, 1.0]])
    rank: Any = fg.torch.linalg.matrix_rank
    assert rank(fg.torch.tensor(x)).item() == 2
    assert rank(fg.torch.tensor(x), hermitian=True).item() == 1
    assert rank(fg.torch.tensor(x), tol=3.0, hermitian=True).item() == 0
    assert fg.paddle.linalg.matrix_rank(fg.paddle.to_tensor(x), hermitian=True).item() == 1


def test_reflections_of_mixed_dtypes_are_promoted() -> None:
    x, tau = fg.tensor([[0, 0], [3, 0]]), fg.tensor([True, False])
    for dtype in ("float32", "float64", "complex64", "complex128"):
        y = fg.ones((2, 2), dtype)
        want = fg.ormqr(x.astype(dtype), tau.astype(dtype), y)
        np.testing.assert_allclose(fg.ormqr(x, tau, y).numpy(), want.numpy())
        # The other operands may have the higher dtype.
        np.testing.assert_allclose(fg.ormqr(x.astype(dtype), tau, fg.ones((2, 2))).numpy(), want.numpy())
        np.testing.assert_allclose(fg.ormqr(x, tau.astype(dtype), fg.ones((2, 2))).numpy(), want.numpy())


def test_products_of_mixed_dtypes_are_promoted() -> None:
    dtypes = ["bool", "uint8", "int32", "int64", "float32", "float64", "complex64", "complex128"]
    for one in dtypes:
        for other in dtypes:
            x, y = np.array([[1, 0], [1, 1]]).astype(one), np.array([[1, 1], [0, 1]]).astype(other)
            if one == other == "bool":
                continue  # Products of truth values alone are refused.
            dtype = fg.result_type(fg.tensor(x), fg.tensor(y))
            found = fg.linalg.multi_dot([fg.tensor(x), fg.tensor(y), fg.tensor(x)])
            assert found.dtype == dtype
            np.testing.assert_array_equal(found.numpy(), x @ y @ x)
    a, b = fg.tensor([[1.5, 2.0]], requires_grad=True), fg.tensor([3.0, 4.0], dtype="float64", requires_grad=True)
    grads = fg.grad([fg.linalg.multi_dot([a, b]).sum()], [a, b])
    assert [(g.dtype.name, g.tolist()) for g in grads] == [("float32", [[3.0, 4.0]]), ("float64", [1.5, 2.0])]


def test_residuals_of_a_batch_are_those_of_each() -> None:
    generator = np.random.default_rng(0)
    a, b = fg.tensor(generator.normal(size=(3, 4, 2))), fg.tensor(generator.normal(size=(3, 4, 1)))
    _, left, rank, _ = func.vmap(fg.linalg.lstsq)(a, b)
    want = [fg.linalg.lstsq(a[i], b[i]) for i in range(3)]
    np.testing.assert_allclose(left, [w[1].numpy() for w in want])
    assert rank.tolist() == [2, 2, 2]


def test_pivots_are_those_of_lapack() -> None:
    x = np.random.default_rng(5).normal(size=(6, 5))
    both, pivots = fg.linalg.lu_factor(x)
    found, rows = scipy.linalg.lu_factor(x)
    np.testing.assert_allclose(both.numpy(), found)
    assert pivots.tolist() == (rows + 1).tolist()
    with pytest.raises(IndexError, match="not numbers of 2 rows"):
        fg.lu_unpack(fg.ones((2, 2)), fg.tensor([1, 3]))


@pytest.mark.parametrize("shape", [(0, 0), (0, 3), (3, 0), (2, 0, 3), (0, 2, 2)])
@pytest.mark.parametrize("ord", [1, 2, np.inf, "fro", "nuc"])
def test_norms_of_empty_matrices(shape: tuple[int, ...], ord: Any) -> None:
    x = fg.tensor(np.zeros(shape), requires_grad=True)
    for keepdims in (False, True):
        y = fg.linalg.matrix_norm(x, ord, keepdims=keepdims)
        assert y.shape == (*shape[:-2], *((1, 1) if keepdims else ()))
        assert y.requires_grad
        assert not fg.any(y != 0)
        assert fg.grad(fg.sum(y), x).shape == shape


@pytest.mark.parametrize(("ord", "shape"), [(-1, (3, 0)), (-2, (0, 3)), (-np.inf, (0, 3))])
def test_there_is_no_smallest_of_no_numbers(ord: float, shape: tuple[int, ...]) -> None:
    with pytest.raises(fg.ArgumentError, match="no elements on the axes to be folded"):
        fg.linalg.matrix_norm(fg.zeros(shape), ord)
    assert fg.linalg.matrix_norm(fg.zeros((0, 3)), -1).item() == 0


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex128"])
@pytest.mark.parametrize(
    "rows",
    [
        [[0, 0], [0, 0]],
        [[0, 1], [0, 2]],
        [[1, 2, 3], [2, 4, 6], [1, 1, 1]],
        [[3, 1], [6, 2], [9, 3]],
        [[0, 0, 1], [0, 0, 2]],
    ],
)
def test_columns_without_a_pivot_stay_in_the_factors(rows: list[list[float]], dtype: str) -> None:
    x = fg.tensor(rows, dtype=dtype)
    p, lower, upper = map(np.asarray, fg.linalg.lu(x))
    np.testing.assert_array_equal(p @ lower @ upper, np.asarray(x))
    assert np.isfinite(lower).all()
    assert np.isfinite(upper).all()
    np.testing.assert_array_equal(np.tril(upper, -1), 0)
    np.testing.assert_array_equal(np.triu(lower), np.eye(*lower.shape))


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
@pytest.mark.parametrize("n", [1, 2, 3, 7, 8, 9, 16, 17])
def test_small_matrices_of_a_batch(n: int, dtype: str) -> None:
    """Batches of any strides have the factors of LAPACK."""
    x = normal(3, 2, n, n, seed=n) + (1j * normal(3, 2, n, n, seed=n + 1) if dtype[0] == "c" else 0)
    positive = (x @ np.conj(t(x)) / n + np.eye(n)).astype(dtype)
    x = x.astype(dtype)
    tol = 1e-4 if dtype in ("float32", "complex64") else 1e-11
    turns: list[Callable[[Any], Any]] = [lambda v: v, lambda v: v.swapaxes(0, 1), lambda v: v[::-1], lambda v: v.mT]
    for turn in turns:
        given, swapped = turn(x), turn(positive)
        a, p = turn(fg.tensor(x)), turn(fg.tensor(positive))
        near(fg.linalg.cholesky(p), np.linalg.cholesky(swapped), tol)
        near(fg.linalg.det(p), np.linalg.det(swapped), tol * abs(np.linalg.det(swapped)).max())
        near(fg.linalg.solve(p, a), np.linalg.solve(swapped, given), tol)
        near(fg.linalg.inv(p), np.linalg.inv(swapped), tol)
    lu, pivots = torch.linalg.lu_factor(torch.tensor(x))
    expected, rows = scipy.linalg.lu_factor(x.astype("complex128" if dtype[0] == "c" else "float64"))
    if n <= 16 and tol < 1e-9:
        assert (np.asarray(pivots) == rows + 1).all()
        near(lu, expected, tol * 10)


@pytest.mark.parametrize("n", [2, 5, 8, 9])
def test_what_the_factor_of_cholesky_reads(n: int) -> None:
    x = np.eye(n) * 4
    x[0, 1], x[1, 0] = np.nan, 1.0
    near(fg.linalg.cholesky(fg.tensor(x)), np.linalg.cholesky(np.where(np.isnan(x), 1.0, x)))
    x[1, 0] = np.inf
    assert np.isnan(np.asarray(fg.linalg.cholesky(fg.tensor(x)))).all()
    x[1, 0], x[n - 1, n - 1] = 1.0, -1.0
    with pytest.raises(fg.LinAlgError, match="not positive definite"):
        fg.linalg.cholesky(fg.tensor(x))
    assert torch.linalg.cholesky_ex(torch.tensor(x))[1].item() == n


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shape", [(1, 1), (3, 3), (16, 16), (5, 2), (2, 5), (16, 3)])
def test_qr_of_many_small_matrices(shape: tuple[int, int], dtype: str) -> None:
    """Their factors have the signs of LAPACK, also where a column has nothing to reflect."""
    x = normal(75, *shape)
    x[3, :, 0], x[4, 1:, 0], x[5, :, -1], x[7] = 0.0, 0.0, x[5, :, 0], 0.0
    x = x.astype(dtype)
    q, r = map(np.asarray, fg.linalg.qr(fg.tensor(x)))
    expected = np.linalg.qr(x)
    tol = 1e-5 if dtype == "float32" else 1e-13
    near(q @ r, x, 4 * tol)
    near(t(q) @ q, np.broadcast_to(np.eye(min(shape)), (75, min(shape), min(shape))), 4 * tol)
    regular = [i for i in range(75) if i not in (5, 7)]
    near(q[regular], expected[0][regular], 1e3 * tol)
    near(r[regular], expected[1][regular], 1e3 * tol)


@pytest.mark.parametrize("size", [1e-30, 1e-200, 1e200])
def test_qr_of_many_small_matrices_of_any_size(size: float) -> None:
    dtype = "float32" if size == 1e-30 else "float64"
    x = (normal(9, 3, 3) * size).astype(dtype)
    q, r = map(np.asarray, fg.linalg.qr(fg.tensor(x)))
    near(q @ (r / np.asarray(size, dtype)), x / np.asarray(size, dtype), 1e-5 if dtype == "float32" else 1e-13)


@pytest.mark.parametrize("n", [1, 2, 5, 16])
def test_odd_matrices_among_many(n: int) -> None:
    """A singular matrix and one that is not finite leave the others of their group as they are."""
    x = normal(70, n, n, seed=n) + n * np.eye(n)
    b = normal(70, n, 2, seed=n + 1)
    x[33], x[40, 0, -1], b[41, 0, 0] = 1.0 if n > 1 else 0.0, np.nan, np.inf
    good = [i for i in range(70) if i not in (33, 40, 41)]
    a, y = torch.tensor(x), torch.tensor(b)
    solved, info = map(np.asarray, torch.linalg.solve_ex(a, y))
    assert info.nonzero()[0].tolist() == [33]
    assert np.isnan(solved[[33, 40, 41]]).all()
    near(solved[good], np.linalg.solve(x[good], b[good]))
    inverse, info = map(np.asarray, torch.linalg.inv_ex(a))
    assert info.nonzero()[0].tolist() == [33]
    near(inverse[[*good, 41]], np.linalg.inv(x[[*good, 41]]))
    with pytest.raises(fg.LinAlgError, match=r"matrix at \[33\]"):
        torch.linalg.solve(a, y)
    with pytest.raises(fg.LinAlgError, match=r"matrix at \[33\]"):
        torch.linalg.inv(a)
    found = np.asarray(torch.linalg.det(a))
    near(found[good], np.linalg.det(x[good]), 1e-10)
    assert found[33] == 0
    assert np.isnan(found[40])
    sign, log = map(np.asarray, torch.linalg.slogdet(a))
    np.testing.assert_array_equal(sign[good], np.linalg.slogdet(x[good])[0])
    near(log[good], np.linalg.slogdet(x[good])[1])
    assert (sign[33], log[33]) == (0, -np.inf)
    positive = x @ t(x)
    positive[33], positive[40] = -np.eye(n), np.eye(n)
    factor, info = map(np.asarray, torch.linalg.cholesky_ex(torch.tensor(positive)))
    assert info.nonzero()[0].tolist() == [33]
    near(factor[[*good, 40]], np.linalg.cholesky(positive[[*good, 40]]))
