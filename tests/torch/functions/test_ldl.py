"""torch.linalg.ldl_factor and ldl_solve."""

from typing import Any

import numpy as np
import pytest
import scipy.linalg
from ferrograd import torch
from ferrograd._core import ArgumentError, LinAlgError, ShapeError

T: Any = torch


def matrices(kind: str, *shape: int) -> np.ndarray:
    """Matrices with small and large elements on the diagonal, so that pivots of both sizes are chosen."""
    rng = np.random.default_rng(len(shape))
    x = rng.normal(size=shape) + (1j * rng.normal(size=shape) if kind != "real" else 0)
    for at in np.ndindex(shape[:-2]):
        x[at][np.diag_indices(shape[-1])] *= 0.01 if sum(at) % 2 == 0 else 3
    return x


def full(x: np.ndarray, kind: str) -> np.ndarray:
    """The symmetric or Hermitian matrices with these lower triangles."""
    upper = np.tril(x, -1).swapaxes(-1, -2)
    if kind == "hermitian":
        i = np.arange(x.shape[-1])
        x = x.copy()
        x[..., i, i] = x[..., i, i].real
        upper = upper.conj()
    return np.tril(x) + upper


@pytest.mark.parametrize("kind", ["real", "symmetric", "hermitian"])
def test_ldl_factors(kind: str) -> None:
    hermitian = kind == "hermitian"
    x = matrices(kind, 2, 5, 5)
    LD, pivots, info = T.linalg.ldl_factor_ex(T.tensor(x), hermitian=hermitian)
    assert (LD.shape, pivots.dtype, info.tolist()) == ((2, 5, 5), torch.int32, [0, 0])
    assert {int(np.sign(p)) for p in pivots.numpy().ravel()} == {-1, 1}
    name = {"real": "dsytrf", "symmetric": "zsytrf", "hermitian": "zhetrf"}[kind]
    for own, want, rows in zip(LD.numpy(), x, pivots.numpy(), strict=True):
        found = getattr(scipy.linalg.lapack, name)(want, lower=1)
        np.testing.assert_allclose(own, np.tril(found[0]), rtol=1e-10)
        # SciPy counts rows from 0, and blocks of two rows from -1 down.
        np.testing.assert_array_equal(rows, found[1])
    b = np.random.default_rng(1).normal(size=(5, 3)).astype(x.dtype)
    solution = T.linalg.ldl_solve(LD, pivots, T.tensor(b), hermitian=hermitian)
    np.testing.assert_allclose(full(x, kind) @ solution.numpy(), np.broadcast_to(b, (2, 5, 3)), atol=1e-10)


@pytest.mark.parametrize("kind", ["real", "symmetric", "hermitian"])
def test_derivatives_of_ldl_factors(kind: str) -> None:
    hermitian = kind == "hermitian"
    x = T.tensor(matrices(kind, 2, 3, 3), requires_grad=True)
    b = T.tensor(matrices(kind, 3, 1), requires_grad=True)

    def factors(x: Any) -> Any:
        return T.linalg.ldl_factor(x, hermitian=hermitian).LD

    def solution(x: Any, b: Any) -> Any:
        return T.linalg.ldl_solve(*T.linalg.ldl_factor(x, hermitian=hermitian), b, hermitian=hermitian)

    for function, inputs in ((factors, (x,)), (solution, (x, b))):
        assert torch.autograd.gradcheck(function, inputs, check_forward_ad=True)
        assert torch.autograd.gradgradcheck(function, inputs)
    np.testing.assert_array_equal(T.func.vmap(factors)(x.detach()), factors(x).detach())


def test_ldl_of_singular_matrices_and_bad_arguments() -> None:
    assert T.linalg.ldl_factor_ex(T.zeros(2, 2)).info.item() == 1
    assert T.linalg.ldl_factor(T.zeros(3, 0, 0)).pivots.shape == (3, 0)
    assert T.linalg.ldl_factor(T.tensor([[float("nan")]])).LD.isnan().all()
    with pytest.raises(LinAlgError, match="zero on its diagonal"):
        T.linalg.ldl_factor_ex(T.zeros(2, 2), check_errors=True)
    with pytest.raises(ShapeError, match="square matrices"):
        T.linalg.ldl_factor(T.zeros(2, 3))
    with pytest.raises(ShapeError, match=r"B is \[\.\.\., n, k\]"):
        T.linalg.ldl_solve(T.eye(2), T.tensor([1, 2]), T.ones(2))
    for pivots in ([0, 2], [1, 9], [1, -2], [2, 1]):
        with pytest.raises(ArgumentError, match="no pivots"):
            T.linalg.ldl_solve(T.eye(2), T.tensor(pivots), T.ones(2, 1))
