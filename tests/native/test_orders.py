"""Higher derivatives: behaviour that every namespace shares."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.dialects import ALL, Dialect, values

every = pytest.mark.parametrize("d", ALL, ids=repr)


def mean(d: Dialect, x: Any) -> Any:
    return x.sum() / float(np.prod(x.shape))


@every
def test_no_grad_vars_cuts_one_of_two_paths(d: Dialect) -> None:
    if d.name == "torch":
        pytest.skip("torch's grad has no no_grad_vars")
    x = d.leaf([-1.0, 2.0])
    y1, y2 = d.module.relu(x), d.module.relu(x)
    (dx,) = d.grad([mean(d, (y1 + y2) ** 2)], [x], no_grad_vars=[y2])
    assert values(dx) == [0, 4]
    assert not y2.stop_gradient


@every
def test_a_power_differentiated_down_to_zero(d: Dialect) -> None:
    x = d.leaf(2.0, "float64")
    y = x**6
    found = []
    for _ in range(7):
        (y,) = d.grad([y], [x], create_graph=True, allow_unused=True)
        found.append(values(y))
    assert found == [192, 480, 960, 1440, 1440, 720, 0]


@every
def test_tanh_differentiated_six_times(d: Dialect) -> None:
    x = d.leaf(0.5, "float64")
    y = d.module.tanh(x)
    found = []
    for _ in range(6):
        (y,) = d.grad([y], [x], create_graph=True)
        found.append(values(y))
    np.testing.assert_allclose(found, [0.78645, -0.72686, -0.56521, 3.95222, -3.26669, -36.27954], rtol=1e-5)


@every
@pytest.mark.parametrize(
    ("a", "b", "c"),
    [((3, 3), (3, 3), (3, 3)), ((2, 2), (2, 2), (2,)), ((3, 2, 2), (1, 2, 2), (2, 2)), ((3,), (3,), ())],
)
def test_sigmoid_of_a_matrix_product_to_the_third_order(d: Dialect, a: Any, b: Any, c: Any) -> None:
    generator = np.random.default_rng(3)
    x, y, z = (d.leaf(generator.normal(size=s)) for s in (a, b, c))
    s = d.module.sigmoid(d.module.matmul(x, y) + z)
    n = np.asarray(s)
    slopes = [n * (1 - n), n * (1 - n) * (1 - 2 * n), n * (1 - n) * (1 - 6 * n + 6 * n * n)]
    for slope in slopes:
        (s,) = d.grad([s], [z], create_graph=True)
        extra = tuple(range(slope.ndim - len(c)))
        np.testing.assert_allclose(np.asarray(s), slope.sum(axis=extra), rtol=1e-5, atol=1e-12)
        if extra:
            break


@every
@pytest.mark.parametrize("create_graph", [False, True])
def test_a_gradient_in_the_loss(d: Dialect, create_graph: bool) -> None:
    data = np.array([[-1.0, 2.0, 0.5], [3.0, -0.5, 1.0]])
    n = data.size
    x = d.leaf(data)
    y = d.module.relu(x) + 1
    (dx,) = d.grad([mean(d, y * y)], [x], create_graph=create_graph)
    loss = mean(d, dx * dx + x * x)
    expected_dx = 2 / n * (np.maximum(data, 0) + 1) * (data > 0)
    np.testing.assert_allclose(np.asarray(dx), expected_dx)
    for k in range(1, 7):
        loss.backward(retain_graph=True)
        through = expected_dx * (data > 0) * 2 / n if create_graph else 0
        np.testing.assert_allclose(np.asarray(x.grad), k * 2 / n * (data + through), rtol=1e-12)


@every
def test_a_cast_to_integers_cuts_the_gradient_off(d: Dialect) -> None:
    x = d.leaf([1.5, 2.5])
    through = x.astype("int64").astype("float32")
    # In Paddle the gradient goes through.
    through_it = d.name == "paddle"
    assert through.stop_gradient != through_it
    d.backward([2 * x + through])
    assert values(x.grad) == [2 + through_it] * 2


@every
def test_results_of_ops_without_a_derivative_are_untracked(d: Dialect) -> None:
    x = d.leaf([1.5, -2.5])
    assert (x > 0).stop_gradient
    assert (x == x).stop_gradient
    for untracked in (d.module.argmax(x), d.module.zeros_like(x), d.module.ones_like(x), d.module.full_like(x, 2.0)):
        assert untracked.stop_gradient
    for f in ("floor", "ceil", "round", "sign"):
        y = getattr(d.module, f)(x)
        assert not y.stop_gradient
        assert values(d.grad([y], [x])[0]) == [0, 0]


@every
def test_gradients_of_five_passes_add_up(d: Dialect) -> None:
    x = d.leaf(5.0)
    for k in range(1, 6):
        (x**4).backward()
        assert values(x.grad) == 500 * k
    x = d.leaf(5.0)
    for k in range(1, 6):
        (x**4).backward(d.tensor(2.0))
        assert values(x.grad) == 1000 * k


@every
def test_a_gradient_graph_that_does_not_need_the_freed_nodes(d: Dialect) -> None:
    x = d.leaf(2.0)
    (g,) = d.grad([x**3], [x], create_graph=True, retain_graph=False)
    assert values(g) == 12
    assert values(d.grad([g], [x])[0]) == 12


@every
def test_a_write_to_a_detached_tensor(d: Dialect) -> None:
    """The write changes the shared value; the saved value stays."""
    x = d.leaf(3.0)
    b = x * 1
    c = b * b
    version = b.inplace_version
    b.detach().add_(1)
    assert values(b) == 4
    assert b.inplace_version == version + 1
    d.backward([c])
    assert values(x.grad) == 6


@every
@pytest.mark.parametrize(
    "first",
    [
        lambda m, x: m.unbind(x)[0],
        lambda m, x: m.meshgrid(x[0], x[1])[0],
        lambda m, x: m.linalg.qr(x)[1],
        lambda m, x: m.linalg.svd(x)[0],
        lambda m, x: m.linalg.slogdet(x)[1],
        lambda m, x: m.topk(x, 1)[0],
        lambda m, x: m.split(x, 1)[0],
    ],
    ids=["unbind", "meshgrid", "qr", "svd", "slogdet", "topk", "split"],
)
def test_the_gradient_of_one_of_several_outputs(d: Dialect, first: Any) -> None:
    a = np.array([[1.0, 2.0], [3.0, 5.0]])
    x = d.leaf(a)
    y = first(d.module, x)
    d.backward([y.sum()])
    h = 1e-6
    want = np.zeros((2, 2))
    for at in np.ndindex(2, 2):
        step = np.zeros((2, 2))
        step[at] = h
        plus, minus = (np.asarray(first(d.module, d.tensor(a + s))).sum() for s in (step, -step))
        want[at] = (plus - minus) / (2 * h)
    np.testing.assert_allclose(values(x.grad), want, atol=1e-7)
