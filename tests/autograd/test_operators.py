"""Operators on functions: the interface of HIPS autograd, against closed forms."""

from __future__ import annotations

import warnings
from typing import Any

import ferrograd as fg
import ferrograd.autograd.numpy as anp
import numpy as np
import pytest
from ferrograd import autograd, func
from ferrograd.autograd import builtins, core, grad, jacobian
from ferrograd.autograd.test_util import check_equivalent, check_grads

X = np.array([0.3, -1.2, 2.0])
V = np.array([1.0, 2.0, -0.5])
A = np.arange(12.0).reshape(4, 3) / 7


def f(x: Any) -> Any:
    return anp.sum(anp.sin(x) * x)


def slope(x: Any) -> Any:
    return np.cos(x) * x + np.sin(x)


def curvature(x: Any) -> Any:
    return 2 * np.cos(x) - np.sin(x) * x


def g(x: Any) -> Any:
    return anp.tanh(anp.dot(A, x))


JACOBIAN = (1 - np.tanh(A @ X) ** 2)[:, None] * A
HESSIAN = np.diag(curvature(X))

CASES: dict[str, tuple[Any, Any]] = {
    "grad": (lambda: grad(f)(X), slope(X)),
    "grad of a number": (lambda: grad(f)(0.3), slope(0.3)),
    "grad of grad": (lambda: grad(grad(f))(0.3), curvature(0.3)),
    "several arguments": (lambda: grad(lambda x, y: x * y**2, (0, 1))(2.0, 3.0), (9.0, 12.0)),
    "an argument from the end": (lambda: grad(lambda x, y: x * y**2, -1)(2.0, 3.0), 12.0),
    "a named argument": (lambda: autograd.grad_named(lambda x, y: x * y**2, "y")(2.0, 3.0), 12.0),
    "all arguments": (lambda: dict(autograd.multigrad_dict(lambda x, y=3.0: x * y**2)(2.0)), {"x": 9.0, "y": 12.0}),
    "value_and_grad": (lambda: autograd.value_and_grad(f)(X), (f(X), slope(X))),
    "elementwise_grad": (lambda: autograd.elementwise_grad(anp.sin)(A), np.cos(A)),
    "egrad": (lambda: autograd.egrad(anp.sin)(A), np.cos(A)),
    "deriv": (lambda: autograd.deriv(anp.sin)(A), np.cos(A)),
    "jacobian": (lambda: jacobian(g)(X), JACOBIAN),
    "jacobian of a number": (lambda: jacobian(lambda x: anp.array([x, x**2]))(3.0), np.array([1.0, 6.0])),
    "jacobian of a matrix": (lambda: jacobian(anp.sum)(A), np.ones((4, 3))),
    "hessian": (lambda: autograd.hessian(f)(X), HESSIAN),
    "hessian_vector_product": (lambda: autograd.hessian_vector_product(f)(X, V), HESSIAN @ V),
    "tensor_jacobian_product": (lambda: autograd.tensor_jacobian_product(g)(X, np.ones(4)), JACOBIAN.sum(0)),
    "vector_jacobian_product": (lambda: autograd.vector_jacobian_product(g)(X, np.ones(4)), JACOBIAN.sum(0)),
    "make_hvp": (lambda: autograd.make_hvp(f)(X)[0](V), HESSIAN @ V),
    "make_vjp": (lambda: autograd.make_vjp(g)(X)[0](np.ones(4)), JACOBIAN.sum(0)),
    "make_jvp": (lambda: autograd.make_jvp(g)(X)(V), (np.tanh(A @ X), JACOBIAN @ V)),
    "make_jvp_reversemode": (lambda: autograd.make_jvp_reversemode(g)(X)(V), JACOBIAN @ V),
    "make_ggnvp": (lambda: autograd.make_ggnvp(g)(X)(V), JACOBIAN.T @ (JACOBIAN @ V)),
    "grad_and_aux": (lambda: autograd.grad_and_aux(lambda x: (f(x), x**2))(X), (slope(X), X**2)),
    "checkpoint": (lambda: grad(autograd.checkpoint(f))(X), slope(X)),
    "holomorphic_grad": (lambda: autograd.holomorphic_grad(anp.sin)(0.3 + 0.2j), np.cos(0.3 + 0.2j)),
    "structures": (
        lambda: grad(lambda p: p["a"] * p["b"][0] + anp.sum(p["b"][1]))({"a": 2.0, "b": (3.0, X)}),
        {"a": 3.0, "b": (2.0, np.ones(3))},
    ),
    "float32": (lambda: grad(f)(X.astype(np.float32)), slope(X).astype(np.float32)),
}


def leaves(value: Any) -> list[Any]:
    """The parts of nested tuples and dicts."""
    if isinstance(value, dict):
        return [part for v in value.values() for part in leaves(v)]
    return [part for v in value for part in leaves(v)] if isinstance(value, tuple) else [value]


@pytest.mark.parametrize("name", CASES)
def test_operator(name: str) -> None:
    compute, wanted = CASES[name]
    found = compute()
    assert type(found) is type(wanted) or isinstance(found, np.generic)
    pairs = list(zip(leaves(found), leaves(wanted), strict=True))
    for part, value in pairs:
        assert isinstance(part, (np.ndarray, np.generic))
        assert part.dtype == np.result_type(value)
        np.testing.assert_allclose(np.asarray(part), value, rtol=1e-6 if part.dtype == np.float32 else 1e-12)


def test_results_may_be_written_to() -> None:
    found, kept = grad(f)(X), X.copy()
    found[0] = 5.0
    found += 1
    assert np.array_equal(X, kept)
    value = autograd.make_vjp(lambda x: x)(X)[1]
    value[0] = 9.0
    assert np.array_equal(X, kept)


def test_gradients_have_the_convention_of_complex_numbers_there() -> None:
    z = 0.4 + 0.7j
    # The gradient of a real function is df/dx - i df/dy.
    np.testing.assert_allclose(grad(lambda z: anp.abs(z) ** 2)(z), 2 * z.conjugate())
    np.testing.assert_allclose(grad(lambda z: anp.real(z**3))(z), 3 * z**2)
    vjp, _ = autograd.make_vjp(anp.sin)(z)
    np.testing.assert_allclose(vjp(1j), 1j * np.cos(z))
    np.testing.assert_allclose(autograd.make_jvp(anp.sin)(z)(1j)[1], 1j * np.cos(z))
    check_grads(lambda z: anp.exp(z) * anp.conj(z))(z)


def test_derivatives_nest_without_confusion() -> None:
    def outer(x: Any) -> Any:
        return x * grad(lambda y: x * y**2)(3.0)

    np.testing.assert_allclose(grad(outer)(2.0), 24.0)
    np.testing.assert_allclose(grad(lambda x: x * grad(lambda y: x + y)(1.0))(5.0), 1.0)
    np.testing.assert_allclose(grad(lambda x: autograd.make_jvp(lambda y: x * y)(1.0)(1.0)[1])(5.0), 1.0)
    check_grads(lambda x: anp.sum(anp.sin(jacobian(g)(x))))(X)
    # Inside of another derivative a value that does not depend on it is NumPy's.
    grad(lambda x: x * (1.0 if isinstance(grad(f)(0.3), np.float64) else 0.0))(1.0)


def test_what_the_function_closes_over_can_be_tracked() -> None:
    w = fg.tensor(np.ones(3), requires_grad=True)
    found = grad(lambda x: anp.sum(w * x**2))(X)
    assert isinstance(found, fg.Tensor)
    np.testing.assert_allclose(fg.grad(fg.sum(found), w).numpy(), 2 * X)


def test_tensors_stay_tensors_under_vmap_and_compile() -> None:
    rows = fg.tensor(A)
    np.testing.assert_allclose(func.vmap(grad(f))(rows).numpy(), slope(A), rtol=1e-12)
    compiled = fg.compile(grad(f))
    for _ in range(3):
        np.testing.assert_allclose(compiled(rows[0]).numpy(), slope(A[0]), rtol=1e-12)


def test_arguments() -> None:
    for bad in (1, True, "text", np.int64(3), {"a": 1}):
        with pytest.raises(TypeError, match="Can't differentiate"):
            grad(lambda x: 1.0 * x)(bad)
    with pytest.raises(TypeError, match="argnum"):
        grad(f, argnum="x")
    # Arrays of integers are differentiated as floats.
    found = grad(lambda x: anp.sum(x**2))(np.arange(3))
    assert found.dtype == np.float64
    assert found.tolist() == [0.0, 2.0, 4.0]
    for dtype in (np.longdouble, np.clongdouble, np.float16):
        assert grad(lambda x: anp.real(anp.sum(x**2)))(X.astype(dtype)).shape == (3,)
    assert grad(f)(np.zeros((0, 2))).shape == (0, 2)
    assert grad(lambda x: anp.sum(x))(A[::2].T).shape == (3, 2)


def test_results_of_functions() -> None:
    for result in (lambda x: x, lambda x: x * 1j, lambda x: x > 0, lambda x: (x, x)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with pytest.raises(TypeError):
                grad(result)(X)
    with pytest.raises(TypeError, match="real-output"):
        jacobian(lambda x: x * 1j)(X)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        assert grad(lambda x: 1.0)(X).tolist() == [0.0, 0.0, 0.0]
        assert jacobian(lambda x: np.ones(2))(X).shape == (2, 3)
    assert len(told) == 2
    assert "independent" in str(told[0].message)
    # A result of one element is a scalar, whatever its shape.
    assert grad(lambda x: anp.sum(x, keepdims=True))(X).tolist() == [1.0, 1.0, 1.0]


def test_an_argument_is_not_written_to() -> None:
    def write(x: Any) -> Any:
        x[0] = 1.0
        return anp.sum(x)

    with pytest.raises(TypeError, match="item assignment"):
        grad(write)(X.copy())

    def write_to_a_copy(x: Any) -> Any:
        y = 2.0 * x
        y[0] = 1.0
        return anp.sum(y)

    assert grad(write_to_a_copy)(X).tolist() == [0.0, 2.0, 2.0]


def test_numbers_of_a_differentiated_value_are_not_given_away() -> None:
    for read in (float, np.asarray, lambda x: x.item(), lambda x: "%f" % x):  # noqa: UP031
        with pytest.raises(TypeError):
            grad(lambda x, read=read: x * read(x))(0.3)
    assert grad(lambda x: x if x > 0 else -x)(-2.0) == -1.0


def test_types_inside() -> None:
    seen: list[Any] = []

    def look(x: Any, tree: Any) -> Any:
        seen.append((builtins.isinstance(x, np.ndarray), builtins.type(x), builtins.isinstance(tree, builtins.list)))
        seen.append((x.shape, x.ndim, x.size, x.dtype, len(x)))
        return anp.sum(x)

    grad(look)(X, [1])
    assert seen == [(True, np.ndarray, True), ((3,), 1, 3, np.dtype(float), 3)]
    assert grad(lambda x: x if builtins.isinstance(x, float) else 0.0 * x)(1.0) == 1.0


def test_names_of_results() -> None:
    assert grad(f, 0).__name__ == "grad_of_f_wrt_argnum_0"
    assert "gradient" in str(grad.__doc__)
    assert set(autograd.__all__) <= set(dir(autograd))


def test_vector_spaces() -> None:
    for value in (1.0, X, 1j * X, [1.0, X], (1.0, (X,)), {"a": 1.0, "b": {"c": X}}):
        space = core.vspace(value)
        assert space == core.vspace(space.randn())
        assert len(list(space.standard_basis())) == space.size
        check_equivalent(space.add(space.zeros(), space.ones()), space.ones())
        check_grads(space.add)(space.randn(), space.randn())
        check_grads(space.inner_prod)(space.randn(), space.randn())
    with pytest.raises(TypeError, match="vector space"):
        core.vspace("text")


def test_checks_find_what_is_wrong() -> None:
    square = core.primitive(lambda x: x**2)
    core.defvjp(square, lambda ans, x: lambda g: g * 2.001 * x)
    with pytest.raises(AssertionError, match="VJP"):
        check_grads(square, modes=["rev"])(1.0)
    core.defjvp(square, lambda t, ans, x: t * 1.999 * x)
    with pytest.raises(AssertionError, match="mismatch"):
        check_grads(square, modes=["fwd"])(1.0)
