"""Functions whose gradients a program defines, and what stands for a value inside of a derivative."""

from __future__ import annotations

from typing import Any

import ferrograd as fg
import ferrograd.autograd.numpy as anp
import numpy as np
import pytest
from ferrograd import func
from ferrograd.autograd import deriv, grad, hessian, jacobian, make_jvp
from ferrograd.autograd.extend import (
    Box,
    VSpace,
    def_linear,
    defjvp,
    defjvp_argnum,
    defvjp,
    defvjp_argnum,
    defvjp_argnums,
    notrace_primitive,
    primitive,
    register_notrace,
    vspace,
)
from ferrograd.autograd.test_util import check_grads
from ferrograd.autograd.tracer import getval, isbox

X = np.array([0.3, -1.2, 2.0])


@primitive
def cube(x: Any, factor: Any = 1.0) -> Any:
    """A function that only NumPy can compute."""
    if not isinstance(x, (np.ndarray, np.generic, float)):
        raise TypeError(type(x))
    x = np.array(x)
    x *= x * x
    return factor * x


defvjp(
    cube,
    lambda ans, x, factor=1.0: lambda g: g * factor * 3 * x**2,
    lambda ans, x, factor=1.0: lambda g: anp.sum(g * x**3),
)


def test_a_primitive() -> None:
    assert cube(2.0) == 8.0
    assert cube.__name__ == "cube"
    np.testing.assert_allclose(grad(lambda x: anp.sum(cube(x)))(X), 3 * X**2)
    np.testing.assert_allclose(hessian(lambda x: anp.sum(cube(x)))(X), np.diag(6 * X))
    np.testing.assert_allclose(jacobian(lambda x: cube(anp.sin(x)))(X), np.diag(3 * np.sin(X) ** 2 * np.cos(X)))
    np.testing.assert_allclose(grad(lambda x, a: anp.sum(cube(x, a)), 1)(X, 2.0), np.sum(X**3))
    # Its tangent follows from its gradient.
    np.testing.assert_allclose(make_jvp(cube)(X)(np.ones(3))[1], 3 * X**2)
    check_grads(lambda x: cube(x) * anp.sin(x))(X)


def test_a_primitive_under_vmap_and_compile() -> None:
    rows = fg.tensor(np.stack([X, 2 * X]))
    found = func.vmap(grad(lambda x: anp.sum(cube(x))))(rows)
    np.testing.assert_allclose(found.numpy(), 3 * rows.numpy() ** 2)
    compiled = fg.compile(grad(lambda x: anp.sum(cube(x))))
    for _ in range(3):
        np.testing.assert_allclose(compiled(rows[0]).numpy(), 3 * X**2)


def test_rules_of_forward_mode() -> None:
    double = primitive(lambda x: 2.0 * x)
    def_linear(double)
    np.testing.assert_allclose(deriv(double)(X), np.full(3, 2.0))
    with pytest.raises(NotImplementedError, match="VJP"):
        grad(double)(1.0)
    product = primitive(lambda x, y: x * y)
    defjvp(product, "same", lambda t, ans, x, y: x * t)
    defvjp(product, lambda ans, x, y: lambda g: g * y, lambda ans, x, y: lambda g: g * x)
    check_grads(lambda x: product(x, anp.sin(x)))(X)
    first = primitive(lambda x, y: x)
    defjvp(first, lambda t, ans, x, y: t, None)
    assert deriv(lambda x: first(x, x))(2.0) == 1.0
    square = primitive(lambda x: x**2)
    defjvp_argnum(square, lambda argnum, t, ans, args, kwargs: 2 * args[argnum] * t)
    assert deriv(square)(3.0) == 6.0


def test_rules_by_positions() -> None:
    total = primitive(lambda *args: sum(args))
    defvjp_argnum(total, lambda argnum, ans, args, kwargs: lambda g: (argnum + 1) * g)
    assert grad(lambda x: total(x, 1.0, x))(2.0) == 4.0
    defvjp_argnums(total, lambda argnums, ans, args, kwargs: lambda g: [10 * g for _ in argnums])
    assert grad(lambda x: total(x, 1.0, x))(2.0) == 20.0


def test_structures_of_arguments_and_results() -> None:
    @primitive
    def both(tree: Any) -> Any:
        return {"sum": tree["a"] + tree["b"][0], "product": [tree["a"] * tree["b"][0]]}

    def rule(ans: Any, tree: Any) -> Any:
        a, b = tree["a"], tree["b"][0]
        return lambda g: {"a": g["sum"] + g["product"][0] * b, "b": [g["sum"] + g["product"][0] * a]}

    defvjp(both, rule)

    def f(x: Any, y: Any) -> Any:
        found = both({"a": x, "b": [y]})
        return found["sum"] * found["product"][0]

    # The function is (x + y) x y.
    assert grad(f, (0, 1))(2.0, 3.0) == (21.0, 16.0)
    check_grads(f, (0, 1))(2.0, 3.0)


def test_complex_rules_have_the_convention_there() -> None:
    power = primitive(lambda z: z**2)
    defvjp(power, lambda ans, z: lambda g: g * 2 * z)
    check_grads(power)(0.3 + 0.4j)


def test_what_has_no_rule() -> None:
    nothing = primitive(lambda x, y: x * y)
    with pytest.raises(NotImplementedError, match=r"VJP of <lambda> wrt argnums \(0,\) not defined"):
        grad(nothing)(1.0, 2.0)
    defvjp(nothing, lambda ans, x, y: lambda g: g * y)
    assert grad(nothing)(1.0, 2.0) == 2.0
    with pytest.raises(NotImplementedError, match="argnum 1"):
        grad(nothing, 1)(1.0, 2.0)
    with pytest.raises(NotImplementedError, match="positional"):
        grad(lambda x: nothing(x, y=x))(1.0)
    with pytest.raises(TypeError, match="Bad VJP"):
        defvjp(nothing, "same")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="no primitive"):
        defvjp(anp.sin, lambda ans, x: lambda g: g)
    defvjp(nothing, None, lambda ans, x, y: lambda g: g * x)
    assert grad(nothing)(1.0, 2.0) == 0.0


def test_a_function_of_numpy_without_a_derivative_can_get_one() -> None:
    defvjp(anp.spacing, lambda ans, x: lambda g: g * 0.0)
    try:
        assert grad(lambda x: anp.sum(anp.spacing(x)))(X).tolist() == [0.0, 0.0, 0.0]
    finally:
        from ferrograd.autograd.core import primitive_vjps

        del primitive_vjps[anp.spacing]


def test_older_forms_of_rules() -> None:
    from ferrograd.autograd.core import primitive

    product = primitive(lambda x, y: x * y)
    with pytest.warns(UserWarning, match="deprecated"):
        product.defgrad(lambda ans, x, y: lambda g: g * y)  # type: ignore[attr-defined]
    with pytest.warns(UserWarning, match="deprecated"):
        product.defvjp(lambda g, ans, vs, gvs, x, y: g * x, argnum=1)  # type: ignore[attr-defined]
    assert grad(product, (0, 1))(2.0, 3.0) == (3.0, 2.0)
    with pytest.warns(UserWarning, match="deprecated"):
        product.defvjp_is_zero([0])  # type: ignore[attr-defined]
    assert grad(product)(2.0, 3.0) == 0.0
    from ferrograd.autograd.util import quick_grad_check

    with pytest.warns(UserWarning, match="deprecated"):
        quick_grad_check(lambda x, y: x**2 + y, 1.0, (2.0,))


def test_boxes() -> None:
    assert not isbox(X)
    count = notrace_primitive(len)
    register_notrace(None, count)

    def f(x: Any) -> Any:
        assert isbox(x)
        assert isinstance(getval(x), np.ndarray)
        assert count(x) == 3
        return anp.sum(x)

    assert grad(f)(X).tolist() == [1.0, 1.0, 1.0]


class Polynomial:
    """An object of the program's, which a function is differentiated by."""

    def __init__(self, coefficients: dict[int, float]) -> None:
        self.coefficients = coefficients

    @primitive
    def __call__(self, x: Any) -> Any:
        return sum(c * x**k for k, c in self.coefficients.items())


class PolynomialBox(Box, Polynomial):
    """What stands for a polynomial."""


class PolynomialSpace(VSpace):
    """The space of polynomials."""

    def zeros(self) -> Polynomial:
        return Polynomial({})

    def _add(self, x: Polynomial, y: Polynomial) -> Polynomial:
        keys = {*x.coefficients, *y.coefficients}
        return Polynomial({k: x.coefficients.get(k, 0.0) + y.coefficients.get(k, 0.0) for k in keys})


def test_objects_of_a_program() -> None:
    PolynomialBox.register(Polynomial)
    PolynomialSpace.register(Polynomial)
    defvjp(Polynomial.__call__, lambda ans, p, x: lambda g: Polynomial({k: g * x**k for k in p.coefficients}))
    p = Polynomial({0: 1.0, 2: 3.0})
    assert p(2.0) == 13.0
    found = grad(lambda p: p(2.0) ** 2 + p(1.0))(p)
    assert found.coefficients == {0: 2 * 13.0 + 1.0, 2: 2 * 13.0 * 4.0 + 1.0}
    assert isinstance(vspace(p), PolynomialSpace)
    del Box.type_mappings[Polynomial], VSpace.mappings[Polynomial]


def test_a_primitive_that_closes_over_what_is_differentiated_is_named() -> None:
    def f(a: Any) -> Any:
        @primitive
        def scaled(x: Any) -> Any:
            return x * a

        defvjp(scaled, lambda ans, x: lambda g: g * 2.0)
        return anp.sum(scaled(a * 3.0))

    with pytest.raises(fg.UnusedInputError, match=r"^scaled: .*none of its arguments"):
        grad(f)(X)
