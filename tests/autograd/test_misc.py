"""Structures as vectors, optimizers, fixed points, and traces of operations."""

from __future__ import annotations

from typing import Any

import ferrograd.autograd.numpy as anp
import numpy as np
import pytest
from ferrograd.autograd import grad
from ferrograd.autograd.misc import const_graph, flatten
from ferrograd.autograd.misc.fixed_points import fixed_point
from ferrograd.autograd.misc.flatten import flatten_func
from ferrograd.autograd.misc.optimizers import adam, rmsprop, sgd
from ferrograd.autograd.misc.tracers import full_graph
from ferrograd.autograd.test_util import check_grads
from ferrograd.autograd.tracer import Node, getval, primitive, trace
from ferrograd.autograd.util import subval, subvals, toposort

TREE = {"b": (np.ones((2, 2)), [3.0]), "a": 2.0}


def test_flatten() -> None:
    vector, unflatten = flatten(TREE)
    assert vector.tolist() == [2.0, 1.0, 1.0, 1.0, 1.0, 3.0]
    back = unflatten(2 * vector)
    assert back["a"] == 4.0
    assert back["b"][0].tolist() == [[2.0, 2.0], [2.0, 2.0]]
    assert flatten(())[0].shape == (0,)
    assert grad(lambda x, y: anp.sum(flatten([x, y])[0] ** 2))(3.0, 2.0) == 6.0
    value, back = flatten(1 + 2j)
    assert back(value) == 1 + 2j
    f, _, start = flatten_func(lambda p: {"a": p["a"] * 2}, {"a": np.ones(2)})
    assert f(start).tolist() == [2.0, 2.0]


@pytest.mark.parametrize("optimize", [sgd, rmsprop, adam])
def test_optimizers(optimize: Any) -> None:
    def loss(p: Any, _: int) -> Any:
        return anp.sum((p["w"] - 2.0) ** 2) + p["b"] ** 2

    seen = []
    start = {"w": np.zeros(2), "b": 1.0}
    found = optimize(grad(loss), start, lambda p, i, g: seen.append((p["b"], i, g["b"])), 300, 0.05)
    assert loss(found, 0) < 1e-2
    assert seen[0] == (1.0, 0, 2.0)
    assert len(seen) == 300


def test_the_first_steps_of_optimizers_are_those_of_their_papers() -> None:
    assert sgd(lambda x, i: 2 * x, np.array([1.0]), num_iters=1, step_size=0.1, mass=0.9)[0] == pytest.approx(0.98)
    assert adam(lambda x, i: 2 * x, np.array([1.0]), num_iters=1, step_size=0.1)[0] == pytest.approx(0.9)
    wanted = 1 - 0.1 * 2 / np.sqrt(0.9 + 0.1 * 4)
    assert rmsprop(lambda x, i: 2 * x, np.array([1.0]), num_iters=1)[0] == pytest.approx(wanted)


def test_a_fixed_point_is_differentiated_by_its_equation() -> None:
    def sqrt(a: Any) -> Any:
        return fixed_point(lambda a: lambda x: 0.5 * (x + a / x), a, 1.0, lambda x, y: abs(x - y), 1e-12)

    np.testing.assert_allclose(sqrt(2.0), np.sqrt(2.0))
    np.testing.assert_allclose(grad(sqrt)(2.0), 0.5 / np.sqrt(2.0))
    np.testing.assert_allclose(grad(grad(sqrt))(2.0), -0.25 * 2.0**-1.5)


class Steps(Node):
    """An operation as text."""

    def __init__(self, value: Any, fun: Any, args: Any, kwargs: Any, parent_argnums: Any, parents: Any) -> None:
        self.parents = parents
        self.text = f"{fun.__name__} = {getval(value):.3f}"

    def initialize_root(self) -> None:
        """Makes the node of the argument."""
        self.parents, self.text = (), "x"


def texts(f: Any, x: Any) -> list[str]:
    """The operations of a function."""
    return [node.text for node in toposort(trace(Steps.new_root(), f, x)[1])]


def test_a_trace_has_each_operation() -> None:
    found = texts(lambda x: anp.sin(x) * 2 + x.sum(), 0.5)
    assert sorted(found) == ["add = 1.459", "multiply = 0.959", "sin = 0.479", "sum = 0.500", "x"]
    square = primitive(lambda x: x**2)
    assert texts(lambda x: square(x), 3.0)[0] == "<lambda> = 9.000"
    assert texts(grad(anp.sin), 0.0)[0].startswith("grad_of_sin")
    assert texts(lambda x: trace(Steps.new_root(), lambda y: x * y, 3.0)[0], 2.0) == ["multiply = 6.000", "x"]
    with pytest.warns(UserWarning, match="independent"):
        assert trace(Steps.new_root(), lambda x: 1.0, 2.0) == (1.0, None)
    with pytest.raises(NotImplementedError, match="positional"):
        trace(Steps.new_root(), lambda x: np.clip(1.0, a_min=0.0, a_max=x), 2.0)
    with pytest.raises(AttributeError):
        trace(Steps.new_root(), lambda x: x.nothing, 2.0)


def test_graphs_of_operations() -> None:
    calls = []

    @primitive
    def told(x: Any, name: str) -> Any:
        calls.append(name)
        return x

    def f(x: Any, y: Any, z: Any) -> Any:
        return told(x, "x") + 2 * told(y, "y") + 3 * told(z, "z")

    once = const_graph(f, 1.0, z=3.0)
    assert once(2.0) == once(2.0) == f(1.0, 2.0, 3.0)
    assert calls == ["x", "y", "z", "y", "x", "y", "z"]
    assert once(5.0) == 20.0
    with pytest.warns(UserWarning, match="independent"), pytest.raises(ValueError, match="independent"):
        const_graph(lambda x: 1.0)(2.0)
    end = full_graph(lambda x, y: x * anp.sin(y), 2.0, 3.0)
    assert end.value == 2.0 * np.sin(3.0)
    assert end.recipe[0] is np.multiply


def test_helpers() -> None:
    assert subval([1, 2, 3], 1, 9) == (1, 9, 3)
    assert subvals((1, 2, 3), [(0, 8), (2, 7)]) == (8, 2, 7)
    check_grads(lambda x: flatten({"a": x})[0])(np.ones(3))
