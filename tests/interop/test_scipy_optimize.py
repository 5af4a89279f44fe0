"""Functions of tensors for SciPy's optimizers and solvers, which take and return arrays."""

from __future__ import annotations

from typing import Any

import ferrograd as fg
import numpy as np
import pytest
from ferrograd import func, paddle, torch
from scipy import integrate, optimize

pytestmark = pytest.mark.filterwarnings("ignore")

WITHOUT_GRADIENT = ["Nelder-Mead", "Powell", "COBYLA", "COBYQA"]
WITH_GRADIENT = ["CG", "BFGS", "L-BFGS-B", "TNC", "SLSQP", "trust-constr"]
WITH_HESSIAN = ["Newton-CG", "dogleg", "trust-ncg", "trust-krylov", "trust-exact", "trust-constr"]


def rosenbrock(x: Any) -> Any:
    return 10 * (x[1] - x[0] ** 2) ** 2 + (1 - x[0]) ** 2


@pytest.mark.parametrize("method", WITHOUT_GRADIENT + WITH_GRADIENT)
def test_minimize_with_values_and_gradients(method: str) -> None:
    g = func.for_numpy(rosenbrock)
    found = optimize.minimize(g.value_and_grad, np.zeros(2), jac=True, method=method, options={"maxiter": 2000})
    np.testing.assert_allclose(found.x, [1, 1], atol=0.05)


@pytest.mark.parametrize("method", WITH_HESSIAN)
def test_minimize_with_hessians(method: str) -> None:
    g = func.for_numpy(rosenbrock)
    start = np.array([0.9, 0.8])
    found = optimize.minimize(g, start, jac=g.grad, hess=g.hess, method=method)
    np.testing.assert_allclose(found.x, [1, 1], atol=1e-3)
    if method not in ("dogleg", "trust-exact"):
        found = optimize.minimize(g, start, jac=g.grad, hessp=g.hessp, method=method)
        np.testing.assert_allclose(found.x, [1, 1], atol=1e-3)


def test_roots_and_least_squares() -> None:
    h = func.for_numpy(lambda x: fg.stack([x[0] ** 2 + x[1] - 3, x[0] - x[1] + 1]))
    for method in ("hybr", "lm"):
        np.testing.assert_allclose(optimize.root(h, np.ones(2), jac=h.jac, method=method).x, [1, 2])
    np.testing.assert_allclose(optimize.least_squares(h, np.ones(2), jac=h.jac).x, [1, 2])
    np.testing.assert_allclose(optimize.fsolve(h, np.ones(2), fprime=h.jac), [1, 2])


@pytest.mark.parametrize("method", ["BDF", "Radau", "LSODA"])
def test_differential_equations(method: str) -> None:
    decay = func.for_numpy(lambda t, y, rate: -rate * y, 1)
    found = integrate.solve_ivp(decay, (0, 1), [2.0, 1.0], args=(3.0,), method=method, rtol=1e-8, jac=decay.jac)
    np.testing.assert_allclose(found.y[:, -1], np.exp(-3) * np.array([2, 1]), rtol=1e-3)


def test_curves() -> None:
    model = func.for_numpy(lambda x, a, b: a * fg.exp(-b * x), (1, 2))
    x = np.linspace(0, 2, 20)
    found, _ = optimize.curve_fit(model, x, 2 * np.exp(-1.3 * x), p0=[1, 1], jac=model.jac)
    np.testing.assert_allclose(found, [2, 1.3])


@pytest.mark.parametrize("tensor", [fg.tensor, torch.tensor, paddle.to_tensor])
def test_functions_of_the_dialects(tensor: Any) -> None:
    seen = []

    def f(x: Any) -> Any:
        seen.append(type(x))
        return ((x - 1) ** 2).sum()

    g = func.for_numpy(f, tensor=tensor)
    found = optimize.minimize(g.value_and_grad, np.zeros(3), jac=True, method="L-BFGS-B")
    np.testing.assert_allclose(found.x, 1)
    assert set(seen) == {type(tensor([1.0]))}


def test_what_it_takes_and_returns() -> None:
    g = func.for_numpy(lambda x, k: k * fg.sum(x**3))
    value, slope = g.value_and_grad([1, 2], 2.0)
    assert (value, type(value)) == (18.0, float)
    slope += 1
    assert slope.tolist() == [7, 25]
    assert slope.dtype == np.float64
    assert g.hess(np.array([1.0, 2.0]), 2.0).tolist() == [[12, 0], [0, 24]]
    assert g.hessp(np.array([1.0, 2.0]), np.array([1.0, 1.0]), 2.0).tolist() == [12, 24]
    assert g(np.zeros(0), 1.0) == 0
    assert g.grad(np.zeros(0), 1.0).shape == (0,)
    assert g.grad(np.array([1, 2], np.float32), 1.0).dtype == np.float32
    of_one = func.for_numpy(lambda x: x**2)
    assert of_one.grad(3.0) == 6
    assert of_one.hess(np.array([3.0])).tolist() == [[2.0]]
    with pytest.raises(fg.ArgumentError, match="for_numpy: a function is wanted"):
        func.for_numpy(3)  # type: ignore[arg-type]
    with pytest.raises(fg.ConversionError):
        func.grad(lambda x: of_one(x) * x)(fg.tensor(2.0))


def test_numbers_of_what_is_differentiated_name_the_way_out() -> None:
    for ask in (np.int64, np.float64, lambda x: np.mean([x, x]), lambda x: np.array([x, 1.0])):
        with pytest.raises(fg.ConversionError, match=r"stack\(\[a, b\]\) .*func.for_numpy"):
            func.grad(lambda x, ask=ask: x * fg.tensor(ask(x)).sum())(fg.tensor(2.0))
    assert func.grad(lambda x: np.sum(np.stack([x, x * x])))(fg.tensor(3.0)).item() == 7
