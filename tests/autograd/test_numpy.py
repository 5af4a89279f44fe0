"""NumPy's names as HIPS autograd has them: the same values, and derivatives that are those of differences."""

from __future__ import annotations

from typing import Any

import ferrograd.autograd.numpy as anp
import numpy as np
import pytest
from ferrograd import Tensor
from ferrograd.autograd import grad, jacobian
from ferrograd.autograd.test_util import check_grads

RANDOM = np.random.RandomState(0)
X, Y = RANDOM.rand(3, 4) + 0.2, RANDOM.rand(3, 4) + 0.3
Z = X + 1j * Y
SQUARE = RANDOM.rand(3, 3) + 3 * np.eye(3)
STACK = np.stack([SQUARE, SQUARE.T + 1])
SYMMETRIC = SQUARE + SQUARE.T

#: Calls of functions with derivatives, of the module and one array.
CALLS: dict[str, tuple[Any, Any]] = {
    "a sum over an axis by position": (lambda n, x: n.sum(x, 0), X),
    "a sum": (lambda n, x: n.sum(x, axis=1, keepdims=True), X),
    "a mean of a list": (lambda n, x: n.mean([x[0], x[1]]), X),
    "a variance of a list": (lambda n, x: n.var([x[0, 0], x[1, 1], 2.0]), X),
    "a deviation": (lambda n, x: n.std(x, axis=0, ddof=1), X),
    "a maximum": (lambda n, x: n.max(x, axis=1), X),
    "a minimum": (lambda n, x: n.amin(x), X),
    "a maximum of complex numbers": (lambda n, x: n.max(x, axis=0), Z),
    "an exponential of a list": (lambda n, x: n.exp([x[0], x[2]]), X),
    "an operand that is a list": (lambda n, x: n.multiply(x, [1.0, 2.0, 3.0, 4.0]), X),
    "an array beside": (lambda n, x: n.arctan2(Y, x), X),
    "a power": (lambda n, x: x**x + 2.0**x + x**2, X),
    "a remainder": (lambda n, x: n.mod(x * 7, 1.3) + (x * 7) % 2.1, X),
    "an outer product of a ufunc": (lambda n, x: n.add.outer(x[0], x[1]), X),
    "a reduction of a ufunc": (lambda n, x: n.multiply.reduce(x), X),
    "the product of matrices": (lambda n, x: n.dot(x, Y.T) @ x, X),
    "a product with a number": (lambda n, x: n.dot(x, 2.0), X),
    "a product of many axes": (lambda n, x: n.dot(x[None], Y.T), X),
    "a contraction": (lambda n, x: n.tensordot(x, Y, axes=[[1], [1]]), X),
    "a sum of Einstein's": (lambda n, x: n.einsum("ij,kj->ik", x, Y), X),
    "a sum of Einstein's with lists of axes": (lambda n, x: n.einsum(Y, [0, 1], x, [2, 1], [0, 2]), X),
    "a product of matrices of several shapes": (lambda n, x: n.linalg.multi_dot([Y, x.T, x]), X),
    "an inner product": (lambda n, x: n.inner(Y, x), X),
    "an outer product": (lambda n, x: n.outer(x, Y), X),
    "a Kronecker product": (lambda n, x: n.kron(x[:2, :2], Y[:2]), X),
    "an array of numbers": (lambda n, x: n.array([x[0, 0], x[1, 1] ** 2, 3.0]), X),
    "an array of rows": (lambda n, x: n.array([x[0], 2 * x[1]]), X),
    "an array of at least three axes": (lambda n, x: n.array([x[0]], ndmin=3), X),
    "an array of an array": (lambda n, x: n.array(x), X),
    "a filled array": (lambda n, x: n.full((2, 4), x[1]), X),
    "joined rows": (lambda n, x: n.r_[x[0], 1.0, x[2]], X),
    "joined columns": (lambda n, x: n.c_[x[0], x[1]], X),
    "joined arrays": (lambda n, x: n.concatenate([x, Y]), X),
    "joined along an axis": (lambda n, x: n.concatenate((x, Y), 1), X),
    "a stack": (lambda n, x: n.stack([x, Y, x], axis=1), X),
    "rows": (lambda n, x: n.vstack([x[0], Y]), X),
    "columns": (lambda n, x: n.column_stack([x[0], Y[1]]), X),
    "side by side": (lambda n, x: n.hstack([x[0], 1.0, x[1]]), X),
    "an appended row": (lambda n, x: n.append(x, Y, axis=0), X),
    "appended numbers": (lambda n, x: n.append(x, [x[0, 0], 2.0]), X),
    "a choice": (lambda n, x: n.where(x > 0.7, x, Y), X),
    "a choice with a number": (lambda n, x: n.where(x > 0.7, 0.0, x**2), X),
    "one of several": (lambda n, x: n.select([x > 1.0, x > 0.6], [x, x**2], 0.5), X),
    "a pattern": (lambda n, x: n.tile(x, (2, 1)), X),
    "repeated elements": (lambda n, x: n.repeat(x, 2, axis=1), X),
    "parts": (lambda n, x: n.split(x, 2, axis=1), X),
    "parts of several sizes": (lambda n, x: n.array_split(x, 3, axis=1), X),
    "a shape": (lambda n, x: n.reshape(x, (4, 3)), X),
    "a shape in Fortran's order": (lambda n, x: n.reshape(x[None], (4, -1), order="F") * n.ravel(x, "F")[:3], X),
    "rows of a vector": (lambda n, x: n.tril(x[0]) @ n.triu(x[1], 1), X),
    "a transpose": (lambda n, x: n.transpose(x, (1, 0)), X),
    "an axis that moves": (lambda n, x: n.moveaxis(x[None], 0, 2), X),
    "an axis that rolls": (lambda n, x: n.rollaxis(x[None], 2), X),
    "an axis that rolls to a place": (lambda n, x: n.rollaxis(x[None], 0, 3), X),
    "more axes": (lambda n, x: n.expand_dims(n.atleast_3d(x), 0), X),
    "elements that roll": (lambda n, x: n.roll(x, 1, axis=0), X),
    "differences": (lambda n, x: n.diff(x, axis=1), X),
    "sums so far": (lambda n, x: n.cumsum(x, axis=0), X),
    "sorted elements": (lambda n, x: n.sort(x, axis=1), X),
    "a quotient of cross products": (lambda n, x: n.cross(x[:, :3], Y[:, :3]), X),
    "a cross product of two elements": (lambda n, x: n.cross(x[:, :3], Y[:, :3], axisa=0, axisb=0, axisc=0), X),
    "a cross product along an axis": (lambda n, x: n.cross(x, Y, axis=0), X),
    "a padded array": (lambda n, x: n.pad(x, ((1, 0), (0, 2)), mode="constant"), X),
    "a triangle": (lambda n, x: n.tril(x), X),
    "a diagonal": (lambda n, x: n.diag(x[0]) + n.diagonal(n.dot(x, Y.T)).sum(), X),
    "limits": (lambda n, x: n.clip(x, 0.4, 0.9), X),
    "a real part": (lambda n, x: n.real(x) + n.imag(x) + n.abs(x), Z),
    "a number that is real": (lambda n, x: n.real_if_close(x * n.conj(x)), Z),
    "the transform of Fourier": (lambda n, x: n.abs(n.fft.fft(x, axis=0)), X),
    "its inverse": (lambda n, x: n.fft.irfft(n.fft.rfft(x, n=6), n=5), X),
    "its two axes": (lambda n, x: n.fft.ifft2(x), Z),
    "an inverse": (lambda n, x: n.linalg.inv(x), STACK),
    "a determinant": (lambda n, x: n.linalg.det(x), SQUARE),
    "a logarithm of a determinant": (lambda n, x: n.linalg.slogdet(x)[1], SQUARE),
    "a solution": (lambda n, x: n.linalg.solve(x, Y), SQUARE),
    "a factor of Cholesky's": (lambda n, x: n.linalg.cholesky(n.dot(x, x.T)), SQUARE),
    "the lower triangle": (lambda n, x: n.linalg.eigh(x), SQUARE),
    "the upper triangle": (lambda n, x: n.linalg.eigh(x, "U"), STACK),
    "eigenvalues of a triangle": (lambda n, x: n.linalg.eigvalsh(x, UPLO="U"), SQUARE),
    "eigenvalues": (lambda n, x: n.linalg.eig(x + 1j * SYMMETRIC)[0], SQUARE + 0j),
    "singular values": (lambda n, x: n.linalg.svd(x, compute_uv=False), X),
    "singular vectors": (lambda n, x: n.linalg.svd(x, full_matrices=False), X),
    "a norm": (lambda n, x: n.linalg.norm(x), X),
    "norms of rows": (lambda n, x: n.linalg.norm(x, axis=1), X),
    "a pseudo-inverse": (lambda n, x: n.linalg.pinv(x), X),
}


def parts(value: Any) -> list[Any]:
    """The arrays of a result."""
    return list(value) if isinstance(value, (list, tuple)) else [value]


@pytest.mark.parametrize("name", CALLS)
def test_function(name: str) -> None:
    f, x = CALLS[name]
    wanted = parts(f(np, x))
    for found in (f(anp, x), value_inside(lambda x: f(anp, x), x)):
        for part, value in zip(parts(found), wanted, strict=True):
            np.testing.assert_allclose(part, value, rtol=1e-9, atol=1e-12)
            assert np.asarray(part).dtype == value.dtype
    check_grads(lambda x: f(anp, x), order=1)(x)


def value_inside(f: Any, x: Any) -> Any:
    """The value of a function as it is computed inside of a derivative."""
    from ferrograd.autograd import make_vjp

    return make_vjp(f)(x)[1]


def test_every_name_of_numpy_is_there() -> None:
    for module, own in ((np, anp), (np.linalg, anp.linalg), (np.fft, anp.fft), (np.random, anp.random)):
        public = [name for name in getattr(module, "__all__", dir(module)) if not name.startswith("_")]
        assert not [name for name in public if hasattr(module, name) and not hasattr(own, name)]
    assert anp.pi == np.pi
    assert anp.float64 is np.float64
    assert anp.ndarray.__name__ == "ndarray"
    assert anp.conj is anp.conjugate
    with pytest.raises(AttributeError, match="no_such_function"):
        anp.no_such_function  # noqa: B018


def test_outside_of_a_derivative_all_values_are_numpys() -> None:
    assert type(anp.sin(1.0)) is np.float64
    assert type(anp.array([1, 2])) is np.ndarray
    assert isinstance(anp.where(True, 1, 2), int)
    assert anp.where(True, [1, 2], [3, 4]) == [1, 2]
    assert anp.where([True, False, True])[0].tolist() == [0, 2]
    assert anp.where(condition=[True, False], x=np.ones(2), y=np.zeros(2)).tolist() == [1.0, 0.0]
    assert anp.r_[1:3, 5].tolist() == [1, 2, 5]
    assert anp.full((2,), 3).dtype == np.dtype(int)


def test_functions_without_a_derivative() -> None:
    def f(x: Any) -> Any:
        assert anp.shape(x) == (3, 4)
        assert anp.ndim(x) == 2
        assert anp.result_type(x) == np.float64
        assert not anp.iscomplexobj(x)
        assert anp.allclose(x, X)
        order = anp.argsort(x[0])
        places = anp.int64(x[0] * 3)
        assert isinstance(places, np.integer | np.ndarray)
        return anp.sum(x[:, order] * np.arange(4.0)) + anp.sum(x[0][places])

    places = np.int64(X[0] * 3)
    wanted = np.zeros((3, 4))
    wanted[:, np.argsort(X[0])] += np.arange(4.0)
    np.add.at(wanted[0], places, 1.0)
    np.testing.assert_allclose(grad(f)(X), wanted)
    with pytest.raises(NotImplementedError, match="VJP of spacing"):
        grad(lambda x: anp.sum(anp.spacing(x)))(X)
    with pytest.raises(NotImplementedError, match="VJP of normal"):
        grad(lambda x: anp.random.normal(x))(1.0)


def test_arrays_of_the_outside_meet_tensors() -> None:
    # NumPy's own functions and arrays take what is differentiated, too.
    np.testing.assert_allclose(grad(lambda x: np.sum(np.sin(x) * X))(Y), np.cos(Y) * X)
    np.testing.assert_allclose(grad(lambda x: anp.sum(X @ x.T))(Y), np.tile(X.sum(0), (3, 1)))
    np.testing.assert_allclose(grad(lambda x: anp.sum(X[x > 0.7]) * anp.sum(x))(Y), np.full((3, 4), X[Y > 0.7].sum()))


def test_signs_of_vectors_are_those_of_numpy() -> None:
    for matrix in (SYMMETRIC, -SYMMETRIC, SYMMETRIC + 1j * (SQUARE - SQUARE.T)):
        for f in (anp.linalg.eigh, anp.linalg.svd, anp.linalg.eig):
            pairs = zip(value_inside(lambda x, f=f: tuple(f(x)), matrix), f(matrix), strict=True)
            for inside, outside in pairs:
                np.testing.assert_allclose(inside, outside, atol=1e-9)


def test_one_triangle_has_all_the_gradient() -> None:
    found = grad(lambda x: anp.sum(anp.linalg.eigvalsh(x) ** 2))(SQUARE)
    assert np.array_equal(found, np.tril(found))
    found = grad(lambda x: anp.sum(anp.linalg.eigvalsh(x, "U") ** 2))(SQUARE)
    assert np.array_equal(found, np.triu(found))


def test_helpers_of_rules() -> None:
    from ferrograd.autograd.numpy.numpy_boxes import ArrayBox
    from ferrograd.autograd.numpy.numpy_vjps import repeat_to_match_shape, replace_zero, unbroadcast_f

    assert ArrayBox is Tensor
    assert unbroadcast_f(np.ones((1, 4)), lambda g: g)(np.ones((2, 3, 4))).tolist() == [[6.0] * 4]
    assert repeat_to_match_shape(2.0, (2, 3), None, None, False)[0].shape == (2, 3)
    assert repeat_to_match_shape(np.ones(3), (2, 3), None, 0, False)[1] == 2
    assert replace_zero(np.array([0.0, 2.0]), 1.0).tolist() == [1.0, 2.0]
    assert anp.make_diagonal(X, axis1=-1, axis2=-2).shape == (3, 4, 4)
    check_grads(lambda d: anp.make_diagonal(d, axis1=-1, axis2=-2))(X)
    assert jacobian(lambda x: anp.concatenate_args(0, x, x))(X[0]).shape == (8, 4)
