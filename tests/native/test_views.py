"""Views and detached tensors: which tensors see a write, which gradients it changes, and when it is refused."""

from __future__ import annotations

import weakref
from typing import Any

import ferrograd as fg
import numpy as np
import pytest
from ferrograd import _core

TORCH = 2


def make(data: Any, tracked: bool = True, dialect: int = 0) -> Any:
    return _core.make(np.asarray(data, np.float64), None, tracked, dialect)


def same(got: Any, want: Any) -> None:
    np.testing.assert_array_equal(np.asarray(got.detach()), want)


def gradient(out: Any, a: Any) -> np.ndarray:
    (g,) = fg.grad([out.sum()], [a], retain_graph=True)
    return np.asarray(g)


A = [1.0, 2.0, 3.0, 4.0]


def test_views_of_views_and_siblings() -> None:
    a = make(np.arange(6.0).reshape(2, 3))
    x = a * 1
    t = x.T
    d = t[1:].diagonal()
    row = x[1]
    d *= 10
    same(x, [[0, 10, 2], [3, 4, 50]])
    same(row, [3, 4, 50])
    assert d._base is x
    assert t._is_view()
    assert not x._is_view()
    np.testing.assert_array_equal(gradient(row, a), [[0, 0, 0], [1, 1, 10]])


def test_second_derivatives_through_writes() -> None:
    a = make([1.0, 2.0])
    x = a * a
    x[:1].mul_(x[1:])
    (g,) = fg.grad([x[0]], [a], create_graph=True)
    np.testing.assert_array_equal(np.asarray(g.detach()), [8, 4])
    np.testing.assert_array_equal(gradient(g, a), [16, 10])


def test_detached_tensors_share_values_only() -> None:
    x = make(3.0)
    b = x * 1
    c = b * b
    b.detach().add_(1)
    same(b, 4)
    assert b.inplace_version == 1
    np.testing.assert_array_equal(gradient(c, x), 6)
    b.data.add_(1)
    assert b.item() == 5
    d = b.detach()
    w = make(2.0)
    d.mul_(w)
    same(b, 10)
    np.testing.assert_array_equal(gradient(d, w), 5)
    np.testing.assert_array_equal(gradient(b * b, x), 20)


def test_detached_tensors_do_not_keep_the_graph_alive() -> None:
    x = make(np.ones(8))
    before = fg._core.live_nodes()
    kept = [(x * x).sum().detach() for _ in range(5)]
    assert fg._core.live_nodes() == before
    y = x * 1
    gone = weakref.ref(y)
    d = y.detach()
    del y
    assert gone() is None
    same(d, np.ones(8))
    assert len(kept) == 5


def test_writes_that_are_not_recorded_keep_the_edges_of_views() -> None:
    a = make(A)
    x = a * 1
    v = x[:2]
    y = v * 2
    with fg.no_grad():
        x.mul_(5)
    same(v, [5, 10])
    np.testing.assert_array_equal(gradient(y, v), [2, 2])


def test_a_constant_that_a_tracked_value_is_written_to_is_tracked_with_its_views() -> None:
    w = make([2.0])
    x = fg.zeros((2, 2), dtype="float64")
    row, column = x[0], x[:, 0]
    row[:1] = w * w
    assert column.requires_grad
    np.testing.assert_array_equal(gradient(column, w), [4])


def test_in_place_idioms_of_optimizers() -> None:
    def step_data(p: Any) -> None:
        p.data -= 0.5 * p.grad

    def step_add(p: Any) -> None:
        p.data.add_(-0.5 * p.grad)

    def step_no_grad(p: Any) -> None:
        with fg.no_grad():
            p -= 0.5 * p.grad

    def step_copy(p: Any) -> None:
        with fg.no_grad():
            p.copy_(p - 0.5 * p.grad)

    def step_value(p: Any) -> None:
        p.set_value(p.detach() - 0.5 * p.grad)

    def step_rebind(p: Any) -> None:
        p.data = p.data - 0.5 * p.grad

    for step in (step_data, step_add, step_no_grad, step_copy, step_value, step_rebind):
        p = make([1.0, 2.0])
        for _ in range(2):
            (p * p).sum().backward()
            step(p)
            p.grad.zero_()
        same(p, [0, 0])
        assert p.is_leaf
        assert p.requires_grad


def test_views_of_a_gradient_see_what_is_added() -> None:
    x = make(A)
    x.sum().backward()
    g, part, copy = x.grad, x.grad[1:], x.grad.detach()
    (x * 2).sum().backward()
    assert x.grad is g
    same(part, [3, 3, 3])
    same(copy, [3, 3, 3, 3])
    part.zero_()
    same(x.grad, [3, 0, 0, 0])


def test_a_tensor_that_changes_shape_stays_the_base_of_its_views() -> None:
    a = make(np.arange(6.0).reshape(2, 3))
    x = a * 1
    row = x[0]
    x.transpose_().unsqueeze_(0)
    assert x.shape == (1, 3, 2)
    row.mul_(10)
    same(x, [[[0, 3], [10, 4], [20, 5]]])
    np.testing.assert_array_equal(gradient(x, a), [[10, 10, 10], [1, 1, 1]])
    with fg.no_grad():
        a.unsqueeze_(0)
    assert a.is_leaf
    np.testing.assert_array_equal(gradient(a * a, a), 2 * np.arange(6.0).reshape(1, 2, 3))


def test_views_of_small_and_of_repeated_values() -> None:
    for x in (fg.zeros((2,)), fg.zeros((3, 4)), fg.tensor([[1.0]])):
        v = x[0]
        v.fill_(7.0)
        same(x[:1], np.full(x[:1].shape, 7))
        assert v.data_ptr() == x.data_ptr()


def test_writes_of_a_part_to_itself_and_to_an_overlapping_part() -> None:
    a = make(A)
    x = a * 1
    x[1:] += 1
    same(x, [1, 3, 4, 5])
    x[1:] = x[:-1]
    same(x, [1, 1, 3, 4])
    np.testing.assert_array_equal(gradient(x, a), [2, 1, 1, 0])


def test_a_loop_of_writes_does_not_copy_the_base() -> None:
    x = fg.zeros((1000,))
    first, last = x[:500], x[500:]
    first[0] = 1.0
    at = x.data_ptr()
    for i in range(1, 50):
        x[i] += 1.0
        first[i] = last[i] * 2 + first[i - 1]
    assert x.data_ptr() == at
    seen = x.numpy()
    x[0] = 9.0
    assert seen[0] == 1


def test_writes_through_views_under_vmap() -> None:
    def f(x: Any) -> Any:
        y = x * 1
        v = y.T[1]
        v.mul_(x[0, 0])
        y[0] += 1
        return y

    data = np.arange(12.0).reshape(3, 2, 2)
    a = fg.tensor(data, requires_grad=True)
    out = fg.func.vmap(f)(a)
    parts = [f(fg.tensor(a)) for a in data]
    same(out, np.stack([np.asarray(p) for p in parts]))
    ones = [make(a) for a in data]
    np.testing.assert_array_equal(gradient(out, a), np.stack([gradient(f(x), x) for x in ones]))


def test_strided_windows_are_views_that_may_overlap() -> None:
    x = make(A) * 1
    w = fg.as_strided(x, (3, 2), (1, 1))
    x[1] = 9.0
    same(w, [[1, 9], [9, 3], [3, 4]])
    with pytest.raises(RuntimeError, match="single memory location"):
        w.add_(1)
    fg.as_strided(x, (2,), (3,)).zero_()
    same(x, [0, 9, 3, 0])
    for bad in (((5,), (1,), 0), ((2,), (2**62,), 0), ((1,), (1,), -1), ((2, 2), (1,), 0), ((2,), (-1,), 0)):
        with pytest.raises(_core.FerrogradError):
            fg.as_strided(x, *bad)


EMPTY = {
    "slice": lambda z: z[0:0],
    "late slice": lambda z: z[2:2],
    "of an axis": lambda z: z[:, 1:1],
    "reshaped": lambda z: z[:0].reshape((2, 0)),
    "of a view": lambda z: z[1:].T[:, 0:0],
    "transposed": lambda z: z[1:1].T,
}


@pytest.mark.parametrize("dialect", [0, 1, TORCH])
@pytest.mark.parametrize("empty", EMPTY)
def test_writing_a_tracked_tensor_into_a_view_without_elements_tracks_its_base(empty: str, dialect: int) -> None:
    for write in ("copy_", "add_", "__setitem__"):
        z = make(np.ones((3, 4)), False, dialect)
        view = EMPTY[empty](z)
        w = make(np.ones(view.shape), True, dialect)
        view.__setitem__(..., w) if write == "__setitem__" else getattr(view, write)(w)
        assert view.requires_grad
        assert z.requires_grad
        assert gradient(z, w).shape == tuple(w.shape)
    # A constant written there leaves a tracked base tracked.
    x = make(np.ones((3, 4)), True, dialect)
    y = x * 2
    view = EMPTY[empty](y)
    view.copy_(make(np.ones(view.shape), False, dialect))
    assert view.requires_grad
    np.testing.assert_array_equal(gradient(y, x), np.full((3, 4), 2.0))


def test_a_view_of_a_tensor_without_elements_is_one() -> None:
    z = make(np.ones((0, 2)), False)
    view = z[:0]
    view.copy_(make(np.ones((0, 2))))
    assert z.requires_grad
    leaf = make(np.ones(3))
    with pytest.raises(fg.LeafInplaceError, match="view of a leaf"):
        leaf[0:0].zero_()


def test_data_set_to_a_part_of_memory_share_it() -> None:
    """A result takes the memory of a part of another tensor with its own history."""
    whole = fg.torch.arange(4.0)
    x: Any = fg.torch.tensor([1.0, 2.0], requires_grad=True)
    y: Any = x * 5
    y.data = whole[1:3]
    assert not whole.requires_grad
    whole[1] = 7.0
    assert y.tolist() == [7.0, 2.0]
    y.mul_(3)
    assert whole.tolist() == [0.0, 21.0, 6.0, 3.0]
    y[0] = y[1]
    np.testing.assert_array_equal(fg.grad(y.sum(), [x])[0], [0.0, 30.0])
