"""Factorisations of complex matrices multiplied back, matrices of very small and very large numbers, and conventions.

The table of cases compares values and derivatives.
"""

from typing import Any, cast

import ferrograd as fg
import ferrograd.paddle as paddle
import ferrograd.torch as torch
import numpy as np
import pytest
from ferrograd.torch.autograd import gradcheck, gradgradcheck

SHAPES = [(4, 4), (5, 3), (3, 5), (2, 3, 3), (0, 0), (3, 0), (0, 3), (1, 1), (40, 40)]
SQUARES = [(4, 4), (2, 3, 3), (0, 0), (1, 1), (2, 0, 0), (90, 90)]
DTYPES = ["complex64", "complex128"]


def normal(*shape: int, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return rng.normal(size=shape) + 1j * rng.normal(size=shape)


def h(x: Any) -> np.ndarray:
    return np.conj(np.swapaxes(np.asarray(x), -1, -2))


def near(got: Any, want: Any, dtype: str = "complex128") -> None:
    want = np.asarray(want)
    scale = max(1, float(np.abs(want).max(initial=0)))
    tol = (1e-4 if dtype == "complex64" else 1e-11) * scale
    np.testing.assert_allclose(np.asarray(got), want, rtol=0, atol=tol)


def orthonormal(q: Any, dtype: str) -> None:
    near(h(q) @ np.asarray(q), np.broadcast_to(np.eye(q.shape[-1]), (*q.shape[:-2], q.shape[-1], q.shape[-1])), dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES)
def test_factors_multiply_back(shape: tuple[int, ...], dtype: str) -> None:
    x = normal(*shape).astype(dtype)
    for mode in ("reduced", "complete"):
        q, r = fg.linalg.qr(x, mode=mode)
        assert q.dtype == r.dtype == dtype
        near(np.asarray(q) @ np.asarray(r), x, dtype)
        orthonormal(q, dtype)
        near(r, np.triu(r), dtype)
        assert not np.diagonal(np.asarray(r), 0, -2, -1).imag.any()
    for full in (False, True):
        u, s, vh = fg.linalg.svd(x, full_matrices=full)
        k = s.shape[-1]
        assert s.dtype == ("float32" if dtype == "complex64" else "float64")
        near((np.asarray(u)[..., :k] * np.asarray(s)[..., None, :]) @ np.asarray(vh)[..., :k, :], x, dtype)
        orthonormal(u, dtype)
        orthonormal(h(vh), dtype)
    p, low, high = map(np.asarray, fg.linalg.lu(x))
    near(p @ low @ high, x, dtype)
    p_inv = np.asarray(fg.linalg.pinv(x))
    near(x @ p_inv @ x, x, dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SQUARES)
def test_square_factors_multiply_back(shape: tuple[int, ...], dtype: str) -> None:
    x = normal(*shape).astype(dtype)
    both = x @ h(x) + np.eye(shape[-1], dtype=dtype)
    low = np.asarray(fg.linalg.cholesky(both))
    near(low @ h(low), both, dtype)
    for uplo in ("L", "U"):
        w, v = map(np.asarray, fg.linalg.eigh(np.tril(both) if uplo == "L" else np.triu(both), UPLO=uplo))
        assert w.dtype == both.real.dtype
        near((v * w[..., None, :]) @ h(v), both, dtype)
    root = np.asarray(fg.linalg.matrix_sqrth(both))
    near(root @ root, both, dtype)
    for matrix in (x, x.real):
        w, v = map(np.asarray, fg.linalg.eig(matrix))
        assert w.dtype == v.dtype == dtype
        near(matrix @ v, v * w[..., None, :], dtype)
        near(np.linalg.norm(v, axis=-2), np.ones(w.shape), dtype)
        near(np.sort_complex(fg.linalg.eigvals(matrix).numpy()), np.sort_complex(w), dtype)


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
def test_small_and_large_numbers_neither_vanish_nor_overflow(dtype: str) -> None:
    sizes = [1e-38, 1e-25, 2e19, 1e37] if dtype in ("float32", "complex64") else [1e-305, 1e-170, 1e154, 1e306]
    for size in sizes:
        x = fg.full((2, 2), size, dtype=dtype)
        want = 2 * float(np.float32(size)) if "32" in dtype or dtype == "complex64" else 2 * size
        for largest in (fg.linalg.svd(x)[1][0], fg.linalg.svdvals(x)[0], fg.linalg.matrix_norm(x, ord=2)):
            assert largest.item() == pytest.approx(want, rel=1e-5)
        assert fg.linalg.eigvalsh(x)[1].item() == pytest.approx(want, rel=1e-5)
        assert max(abs(w) for w in fg.linalg.eigvals(x).tolist()) == pytest.approx(want, rel=1e-5)


def test_equal_values_of_a_matrix() -> None:
    x = torch.tensor(2 * np.eye(3) + 0j, requires_grad=True)
    assert gradcheck(lambda x: torch.linalg.polar(x), (x,))
    assert gradgradcheck(lambda x: torch.linalg.polar(x)[1], (x,))
    assert gradcheck(lambda x: torch.linalg.matrix_sqrth((x + x.mH) / 2), (x,))
    assert gradgradcheck(lambda x: torch.linalg.matrix_sqrth((x + x.mH) / 2), (x,))


def test_the_gradient_of_the_pseudoinverse_of_hermitian_matrices() -> None:
    x, pinv = torch.tensor(normal(4, 4), requires_grad=True), cast(Any, torch.linalg).pinv
    assert gradcheck(lambda x: pinv(x[:, :2] @ x[:, :2].mH, hermitian=True), (x,), atol=1e-4)
    assert gradcheck(lambda x: pinv(x + x.mH, hermitian=True), (x,), atol=1e-4)


def test_gradients_of_complex_functions_of_torch() -> None:
    x, y = (torch.tensor(normal(3, 3, seed=i), requires_grad=True) for i in range(2))
    functions = [
        lambda x, y: torch.linalg.solve(x, y),
        lambda x, y: torch.linalg.slogdet(x @ y),
        lambda x, y: torch.triangular_solve(y, x, transpose=True)[0],
        lambda x, y: torch.linalg.lstsq(x[:, :2], y)[0],
        lambda x, y: torch.nn.functional.conv1d(x[None], y[:, :, None], padding=1),
        lambda x, y: torch.logaddexp(x, y),
        lambda x, y: torch.var(x * y, 0),
    ]
    for f in functions:
        assert gradcheck(f, (x, y))
        assert gradgradcheck(f, (x, y), atol=1e-4)


def test_matrices_of_paddle() -> None:
    x, y = paddle.to_tensor(normal(3, 3)), paddle.to_tensor(normal(3, 2, seed=1))
    a, b = x.numpy(), y.numpy()
    linalg: Any = paddle.linalg
    both, pivots, info = linalg.lu(x, get_infos=True)
    assert info.item() == 0
    p, low, high = linalg.lu_unpack(both, pivots)
    near(p.numpy() @ low.numpy() @ high.numpy(), a)
    assert linalg.lu_unpack(both, pivots, unpack_pivots=False)[0] is None
    for trans, matrix in (("N", a), ("T", a.T), ("C", h(a))):
        near(linalg.lu_solve(y, both, pivots, trans), np.linalg.solve(matrix, b))
    factor = np.linalg.cholesky(a @ h(a))
    near(linalg.cholesky_inverse(paddle.to_tensor(factor)), np.linalg.inv(a @ h(a)))
    near(linalg.pinv(x), np.linalg.pinv(a))
    near(linalg.pinv(paddle.to_tensor(a + h(a)), hermitian=True), np.linalg.pinv(a + h(a)))
    solution, left, rank, values = linalg.lstsq(x[:, :2], y, driver="gelsd")
    want = np.linalg.lstsq(a[:, :2], b)
    near(solution, want[0])
    near(left, want[1])
    near(values, want[3])
    assert rank.item() == linalg.matrix_rank(x[:, :2]).item() == 2
    assert linalg.matrix_rank(x, tol=100.0).item() == 0
    near(linalg.cov(x, rowvar=False, ddof=False), np.cov(a, rowvar=False, ddof=0))
    near(linalg.corrcoef(x, rowvar=False), np.corrcoef(a, rowvar=False))
    assert linalg.cond(x).item() == pytest.approx(np.linalg.cond(a))
    w, v = linalg.eig(x)
    near(a @ v.numpy(), v.numpy() * w.numpy())
    calls: list[Any] = [
        lambda: linalg.lu(x, pivot=False),
        lambda: linalg.lu_solve(y, both, pivots, "H"),
        lambda: linalg.lstsq(x, y, driver="qr"),
    ]
    for call in calls:
        with pytest.raises(fg.ArgumentError):
            call()


def test_what_has_no_meaning_for_complex_numbers_is_refused() -> None:
    x = fg.tensor([1 + 2j, 3j])
    calls: list[Any] = [
        lambda: fg.kl_div(x, x),
        lambda: fg.kl_div(x, x, log_target=True),
        lambda: fg.cosine_similarity(x, x, axis=0),
        lambda: fg.binary_cross_entropy(x, x),
        lambda: fg.logaddexp2(x, x),
        lambda: fg.interp(x, x, x),
    ]
    for call in calls:
        with pytest.raises(fg.DtypeError, match="complex64"):
            call()


def test_casts_to_real_numbers_warn_in_the_dialects() -> None:
    x: Any = torch.tensor([1 + 2j], requires_grad=True)
    casts: list[Any] = [
        lambda: x.to(torch.float64),
        lambda: x.to(dtype=torch.float32),
        lambda: x.to(torch.ones(1)),
        lambda: x.double(),
        lambda: x.float(),
    ]
    for to_real in casts:
        with pytest.warns(UserWarning, match="discards the imaginary part"):
            y = to_real()
        assert y.tolist() == [1.0]
        (g,) = torch.autograd.grad(y.sum(), x)
        assert g.tolist() == [1]
    assert x.to("cpu").dtype == torch.complex64
    assert x.to(torch.bool).tolist() == [True]
    with pytest.warns(UserWarning, match="discards the imaginary part"):
        assert torch.softmax(x, 0, dtype=torch.float64).tolist() == [1.0]


@pytest.mark.parametrize("factor", [1.0, 1 + 1j])
def test_eigenvectors_of_defective_and_graded_matrices_are_finite(factor: complex) -> None:
    n = 76
    graded = 10.0 ** -np.minimum(3.0 * np.add.outer(np.arange(n), np.arange(n)), 90)
    for x in (np.eye(n, k=1) + 2 * np.eye(n), np.eye(n, k=1), graded):
        w, v = map(np.asarray, fg.linalg.eig(factor * x))
        near(factor * x @ v, v * w)
        near(np.linalg.norm(v, axis=0), np.ones(n))
