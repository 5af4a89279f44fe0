"""``grad`` and ``backward``: behaviour that every namespace shares."""

from __future__ import annotations

from typing import Any

import ferrograd as fg
import numpy as np
import pytest

from tests.dialects import ALL, Dialect, values

every = pytest.mark.parametrize("d", ALL, ids=repr)


@every
@pytest.mark.parametrize("create_graph", [False, True])
def test_an_output_that_is_the_input(d: Dialect, create_graph: bool) -> None:
    x = d.leaf([1.0, 2.0])
    (dx,) = d.grad([x], [x], create_graph=create_graph)
    assert values(dx) == [1, 1]
    assert dx.stop_gradient == (not create_graph)


@every
def test_an_output_and_what_it_was_computed_from(d: Dialect) -> None:
    x = d.leaf([1.0, 2.0])
    y = x + 1
    assert values(d.grad([y, x], [x])[0]) == [2, 2]


@every
def test_gradients_do_not_flow_forwards(d: Dialect) -> None:
    x = d.leaf([1.0, 2.0])
    y = x + 1
    assert d.grad([x], [y], allow_unused=True) == [None]
    assert values(d.grad([x, y], [y])[0]) == [1, 1]


@every
def test_none_for_an_unused_input(d: Dialect) -> None:
    x, z = d.leaf([1.0, 2.0]), d.leaf([3.0])
    dx, dz = d.grad([x * x], [x, z], allow_unused=True)
    assert values(dx) == [2, 4]
    assert dx.stop_gradient
    assert dz is None


@every
def test_grad_leaves_the_grad_attribute_alone(d: Dialect) -> None:
    x, w = d.leaf([1.0, 2.0]), d.leaf([3.0, 4.0])
    d.grad([x * w], [x])
    assert x.grad is None
    assert w.grad is None


def ones33(d: Dialect, scale: float = 1) -> Any:
    return d.leaf(np.full((3, 3), scale, np.float32))


@every
def test_second_derivatives_of_a_matrix_product(d: Dialect) -> None:
    x, y, v = ones33(d, 2), ones33(d, 2), ones33(d)
    gx, gy = d.grad([x @ y], [x, y], [v], create_graph=True)
    assert np.all(np.asarray(gx) == 6)
    assert np.all(np.asarray(gy) == 6)
    d.backward([gx])
    assert np.all(np.asarray(y.grad) == 3)
    assert np.all(np.asarray(v.grad) == 6)
    assert x.grad is None


@every
def test_third_derivatives_of_a_matrix_product(d: Dialect) -> None:
    x, y, v, a, b = ones33(d, 2), ones33(d, 2), ones33(d), ones33(d), ones33(d)
    gx, gy = d.grad([x @ y], [x, y], [v], create_graph=True)
    big_a, big_b, big_c = d.grad([gx, gy], [x, y, v], [a, b], create_graph=True)
    assert [np.unique(np.asarray(t)).tolist() for t in (big_a, big_b, big_c)] == [[3], [3], [12]]
    d.backward([big_a])
    assert x.grad is None
    assert y.grad is None
    assert a.grad is None
    assert np.all(np.asarray(v.grad) == 3)
    assert np.all(np.asarray(b.grad) == 3)


@every
def test_a_seed_of_another_shape(d: Dialect) -> None:
    x = d.leaf([1.0, 2.0])
    with pytest.raises(ValueError, match=r"(?i)shape") as caught:
        d.grad([x * x], [x], [d.tensor([1.0])])
    assert isinstance(caught.value, (AssertionError, RuntimeError))
    assert "[1]" in str(caught.value)
    assert "[2]" in str(caught.value)
    with pytest.raises(fg.ShapeError, match=r"\[3\]"):
        d.grad([x * x, x + 1], [x], [d.tensor([1.0, 1.0]), d.tensor([1.0, 1.0, 1.0])])


@every
def test_a_seed_of_another_dtype(d: Dialect) -> None:
    x = d.leaf([1.0, 2.0])
    (dx,) = d.grad([x * x], [x], [d.tensor([1.0, 3.0], dtype="float64")])
    assert dx.dtype == "float32"
    assert values(dx) == [2, 12]


@every
def test_an_inner_output_adds_to_the_gradient_that_flows_through_it(d: Dialect) -> None:
    x = d.leaf([1.0, 2.0])
    y = x * x
    d.backward([y, 3 * y])
    assert values(x.grad) == [8, 16]


@every
def test_outputs_that_depend_on_each_other(d: Dialect) -> None:
    x = d.leaf([1.0, 2.0])
    y = x * x
    z = y * y
    dx, dy = d.grad([y, z], [x, y])
    assert values(dx) == [6, 36]
    assert values(dy) == [3, 9]


@every
def test_backward_of_a_leaf(d: Dialect) -> None:
    x = d.leaf([1.0])
    x.backward()
    assert values(x.grad) == [1]


@every
def test_a_second_backward_raises(d: Dialect) -> None:
    x = d.leaf(3.0)
    y = x * x
    y.backward()
    for error in (fg.FreedGraphError, RuntimeError, SystemError):
        with pytest.raises(error, match="retain_graph=True"):
            y.backward()
    assert values(x.grad) == 6


@every
def test_a_shared_graph_is_freed_by_the_first_backward(d: Dialect) -> None:
    x = d.leaf(3.0)
    y = x * x
    a, b = 3 * y, 4 * y
    a.backward()
    with pytest.raises(fg.FreedGraphError):
        b.backward()


@every
def test_a_graph_that_saves_nothing_can_be_walked_again(d: Dialect) -> None:
    x = d.leaf(3.0)
    y = x + 1
    y.backward()
    y.backward()
    assert values(x.grad) == 2


@every
def test_a_retained_graph(d: Dialect) -> None:
    x = d.leaf(3.0)
    y = x * x
    y.backward(retain_graph=True)
    y.backward()
    assert values(x.grad) == 12
    with pytest.raises(fg.FreedGraphError):
        y.backward()


@every
def test_create_graph_retains_the_graph(d: Dialect) -> None:
    x = d.leaf(3.0)
    y = x * x
    for _ in range(2):
        assert values(d.grad([y], [x], create_graph=True)[0]) == 6


@every
def test_create_graph_with_retain_graph_false_frees_the_graph(d: Dialect) -> None:
    x = d.leaf(2.0)
    y = x * x * x
    (g,) = d.grad([y], [x], create_graph=True, retain_graph=False)
    assert values(g) == 12
    with pytest.raises(fg.FreedGraphError):
        d.grad([g], [x])


@every
def test_the_second_derivative_of_a_linear_function(d: Dialect) -> None:
    x = d.leaf(2.0)
    (g,) = d.grad([3 * x], [x], create_graph=True)
    assert values(g) == 3
    assert not g.stop_gradient
    with pytest.raises(fg.UnusedInputError):
        d.grad([g], [x], retain_graph=True)
    assert d.grad([g], [x], allow_unused=True) == [None]
    if d.name != "paddle":
        assert values(d.grad([g], [x], materialize_grads=True)[0]) == 0


@every
def test_create_graph_records_inside_no_grad(d: Dialect) -> None:
    x = d.leaf(2.0)
    y = x * x * x
    with d.module.no_grad():
        (g,) = d.grad([y], [x], create_graph=True)
    assert values(d.grad([g], [x])[0]) == 12


@every
def test_an_error_names_where_the_freed_node_was_made(d: Dialect) -> None:
    x = d.leaf(3.0)
    y = x * x
    y.backward()
    with pytest.raises(fg.FreedGraphError, match=r"test_grad\.py:\d+"):
        y.backward()


@every
def test_a_failed_pass_changes_no_gradient(d: Dialect) -> None:
    """A pass that fails midway leaves every gradient unchanged."""
    x, w = d.leaf(3.0), d.leaf(2.0)
    y = x * x
    y.backward()
    z = y * w
    with pytest.raises(fg.FreedGraphError):
        z.backward()
    assert values(x.grad) == 6
    assert w.grad is None
