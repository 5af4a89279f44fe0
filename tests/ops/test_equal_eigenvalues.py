"""Derivatives of eigenvalues, singular values and their vectors where values are equal, or nearly so."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import ferrograd as fg
import numpy as np
import pytest
from ferrograd import func

linalg: Any = fg.linalg


def turned(values: list[float], is_complex: bool = False) -> Any:
    """A symmetric or Hermitian matrix with these eigenvalues."""
    generator = np.random.default_rng(3)
    n = len(values)
    q = generator.normal(size=(n, n)) + (1j * generator.normal(size=(n, n)) if is_complex else 0)
    q = np.linalg.qr(q)[0]
    x = (q * np.array(values)) @ q.conj().T
    return fg.tensor((x + x.conj().T) / 2)


MATRICES: dict[str, Any] = {
    "identity": fg.eye(3, dtype="float64"),
    "two equal": turned([1.0, 1.0, 2.0]),
    "nearly equal": fg.tensor(np.diag([1.0, 1.0 + 1e-15, 1.0 - 4e-15])),
    "two pairs": turned([1.0, 1.0, 3.0, 3.0]),
    "complex": turned([1.0, 1.0, 2.0], True),
}


def total(x: Any) -> Any:
    return fg.real(fg.sum(x))


#: Well defined functions of the values alone, and the same without them.
OF_VALUES: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "sum of squares": (lambda a: (linalg.eigvalsh(a) ** 2).sum(), lambda a: total(a * fg.conj(a))),
    "sum of cubes": (lambda a: (linalg.eigvalsh(a) ** 3).sum(), lambda a: total(a @ a * fg.conj(a))),
    "logdet": (lambda a: fg.log(linalg.eigvalsh(a)).sum(), lambda a: linalg.slogdet(a)[1]),
    "distance to the identity": (
        lambda a: ((linalg.eigvalsh(a) - 1) ** 2).sum(),
        lambda a: total((a - fg.eye(len(a), dtype="float64")) * fg.conj(a - fg.eye(len(a), dtype="float64"))),
    ),
    "square of the trace": (lambda a: linalg.eigvalsh(a).sum() ** 2, lambda a: fg.real(linalg.trace(a)) ** 2),
    "logsumexp": (
        lambda a: fg.logsumexp(linalg.eigvalsh(a), 0),
        lambda a: fg.log(fg.real(linalg.trace(linalg.matrix_exph(a)))),
    ),
    "squares of singular values": (lambda a: (linalg.svdvals(a) ** 2).sum(), lambda a: total(a * fg.conj(a))),
    "nuclear norm": (lambda a: linalg.svdvals(a).sum(), lambda a: fg.real(linalg.trace(linalg.matrix_powerh(a, 1)))),
    "powers of singular values": (
        lambda a: (linalg.svdvals(a) ** 3).sum(),
        lambda a: fg.real(linalg.trace(linalg.matrix_powerh(linalg.matrix_powerh(a, 2), 1.5))),
    ),
}


def symmetric(f: Callable[..., Any]) -> Callable[..., Any]:
    return lambda a: f((a + fg.conj(fg.matrix_transpose(a))) / 2)


@pytest.mark.parametrize("name", OF_VALUES)
@pytest.mark.parametrize("at", MATRICES)
@pytest.mark.filterwarnings("error")
def test_functions_of_the_values_alone_to_second_order(name: str, at: str) -> None:
    a = MATRICES[at]
    ours, theirs = map(symmetric, OF_VALUES[name])
    np.testing.assert_allclose(func.grad(ours)(a), func.grad(theirs)(a), atol=1e-10)
    generator = np.random.default_rng(0)
    for _ in range(3):
        e = generator.normal(size=a.shape) + (1j * generator.normal(size=a.shape) if at == "complex" else 0)
        e = fg.tensor(e + e.conj().T)

        def along(f: Callable[..., Any], e: Any = e) -> Any:
            slope = func.grad(lambda a: fg.real((func.grad(f)(a) * fg.conj(e)).sum()))
            return slope(a)

        np.testing.assert_allclose(along(ours), along(theirs), rtol=1e-8, atol=1e-8)
        forward = func.jvp(func.grad(ours), (a,), (e,))[1]
        np.testing.assert_allclose(forward, along(theirs), rtol=1e-8, atol=1e-8)


def test_the_hessian_of_the_sum_of_squares_at_the_identity() -> None:
    f = symmetric(lambda a: (linalg.eigvalsh(a) ** 2).sum())
    wanted = func.hessian(symmetric(lambda a: (a * a).sum()))(MATRICES["identity"])
    for hessian in (func.hessian, lambda f: func.jacrev(func.jacrev(f)), lambda f: fg.compile(func.hessian(f))):
        np.testing.assert_allclose(hessian(f)(MATRICES["identity"]), wanted, atol=1e-12)
    batch = fg.stack([MATRICES["identity"], turned([1.0, 1.0, 2.0]), turned([1.0, 3.0, 2.0])])
    np.testing.assert_allclose(func.vmap(func.hessian(f))(batch), fg.stack([wanted] * 3), atol=1e-11)


def test_singular_values_of_matrices_that_are_not_square_or_lack_rank() -> None:
    generator = np.random.default_rng(1)
    u, v = np.linalg.qr(generator.normal(size=(4, 4)))[0], np.linalg.qr(generator.normal(size=(2, 2)))[0]
    for s in ([2.0, 2.0], [1.0, 0.0], [0.0, 0.0]):
        a = fg.tensor((u[:, :2] * s) @ v.T)
        for x in (a, a.T.clone()):
            found = func.hessian(lambda a: (linalg.svdvals(a) ** 2).sum())(x)
            np.testing.assert_allclose(found.numpy().reshape(8, 8), 2 * np.eye(8), atol=1e-10)


#: The same by vectors and values together. Their derivatives are not told by cotangents of these.
TOGETHER: dict[str, Callable[..., Any]] = {
    "eigh": lambda a: fg.sum((lambda w, v: (v * w) @ v.T)(*linalg.eigh(a))),
    "root by eigh": lambda a: fg.sum((lambda w, v: (v * fg.sqrt(w)) @ v.T)(*linalg.eigh(a))),
    "inverse by eigh": lambda a: fg.sum((lambda w, v: (v / w) @ v.T)(*linalg.eigh(a))),
    "svd": lambda a: fg.sum((lambda u, s, vh: (u * fg.log1p(s)) @ vh)(*linalg.svd(a))),
    "eig": lambda a: fg.real(fg.sum((lambda w, v: (v * w) @ linalg.inv(v))(*linalg.eig(a)))),
}


@pytest.mark.parametrize("name", TOGETHER)
@pytest.mark.parametrize("gap", [0.0, 1e-15, 4e-15])
def test_vectors_and_values_together_are_not_wrong(name: str, gap: float) -> None:
    a = fg.tensor(np.diag([1.0, 1.0 + gap, 3.0]))
    with pytest.warns(UserWarning, match="matrix_sqrth.*matrix_logh") as caught:
        found = func.grad(TOGETHER[name])(a)
    assert len(caught) == 1
    assert np.isnan(found.numpy()).any()
    compiled = fg.compile(func.grad(TOGETHER[name]))
    for _ in range(2):
        with pytest.warns(UserWarning, match="matrix_logh"):
            assert np.isnan(compiled(a).numpy()).any()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        apart = func.grad(TOGETHER[name])(fg.tensor(np.diag([1.0, 2.0, 3.0])))
        assert np.isfinite(apart.numpy()).all()
        assert np.isfinite(compiled(fg.tensor(np.diag([1.0, 2.0, 3.0]))).numpy()).all()


@pytest.mark.filterwarnings("error")
def test_vectors_alone_and_vectors_that_do_not_turn() -> None:
    """A projector on the whole space of equal values, and products whose cotangent turns no vector."""
    a = turned([1.0, 1.0, 2.0])
    c = fg.tensor(np.random.default_rng(5).normal(size=(3, 3)))

    def projector(a: Any) -> Any:
        v = linalg.eigh(a)[1][:, :2]
        return ((v @ v.T) * c).sum()

    # The projector is (2 - a) for these values, and its derivative is that between the spaces.
    p = np.eye(3) * 2 - a.numpy()
    e = (c.numpy() + c.numpy().T) / 2
    wanted = -(p @ e @ (np.eye(3) - p) + (np.eye(3) - p) @ e @ p)
    np.testing.assert_allclose(func.grad(projector)(a), wanted, atol=1e-12)
    trace = func.grad(lambda a: (lambda w, v: linalg.trace((v * w**2) @ v.T))(*linalg.eigh(a)))
    np.testing.assert_allclose(trace(a), 2 * a.numpy(), atol=1e-12)
    # Vectors of a space that is not read may be undetermined.
    leading = func.grad(lambda a: (lambda w, v: (w[2] * (v[:, 2:] @ v[:, 2:].T) * c).sum())(*linalg.eigh(a)))
    assert np.isfinite(leading(a).numpy()).all()


@pytest.mark.filterwarnings("ignore:a gradient is NaN")
def test_second_derivatives_that_are_not_told_are_not_wrong() -> None:
    a = MATRICES["identity"]

    def squared(a: Any) -> Any:
        w, v = linalg.eigh(a)
        return ((v * w) @ v.T).sum() ** 2

    second = func.grad(lambda a: func.grad(squared)(a).sum())(a)
    assert np.isnan(second.numpy()).any()


@pytest.mark.parametrize("name", TOGETHER)
def test_tangents_of_vectors_and_values_together_are_not_wrong(name: str) -> None:
    a, t = fg.eye(3, dtype="float64"), fg.ones((3, 3), dtype="float64")
    with pytest.warns(UserWarning, match="matrix_logh"):
        assert np.isnan(func.jvp(TOGETHER[name], (a,), (t,))[1].item())
    # This direction turns no vector.
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.isfinite(func.jvp(TOGETHER[name], (a,), (a,))[1].item())
        alone = func.jvp(lambda a: (linalg.eigvalsh(a) ** 2).sum(), (a,), (t,))[1]
        assert np.isclose(alone.item(), 6.0)


@pytest.mark.filterwarnings("ignore:a gradient is NaN")
def test_forward_mode_twice_is_right_or_nan() -> None:
    """Sums of functions of the values, whose second derivatives along ones at the identity are 9 f''(1)."""
    a = fg.eye(3, dtype="float64")
    t = fg.ones((3, 3), dtype="float64")
    for f, second in ((lambda w: w, 0.0), (lambda w: w * w, 18.0), (lambda w: (w - 1) ** 2, 18.0)):

        def along(a: Any, f: Any = f) -> Any:
            return func.jvp(lambda a: f(linalg.eigvalsh(a)).sum(), (a,), (t,))[1]

        found = func.jvp(along, (a,), (t,))[1].item()
        assert np.isnan(found) or np.isclose(found, second)
