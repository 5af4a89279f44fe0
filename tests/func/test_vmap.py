"""``vmap`` against plain loops: axes, structures, chunks, and per-sample gradients."""

from __future__ import annotations

from typing import Any

import ferrograd as fg
import numpy as np
import pytest
from ferrograd.func import cond, grad, hessian, jacfwd, jacrev, jvp, value_and_grad, vmap

from tests.func.tools import same, sample


def test_arrays_are_batched_as_tensors_are() -> None:
    a, b = np.arange(6.0).reshape(3, 2), np.arange(2.0)
    same(vmap(lambda x: fg.sum(x * x))(a), (a * a).sum(1))
    same(vmap(lambda x, y: fg.sum(x * y), in_axes=(1, None))(a, np.ones(3)), a.sum(0))
    same(vmap(lambda x, y: x * y)(fg.tensor(a), a), a * a)
    same(vmap(lambda p: p["x"] + p["y"])({"x": a, "y": 1.5}), a + 1.5)
    same(vmap(lambda x, y: x * y, in_axes=(0, None))(a, b), a * b)
    assert vmap(lambda x: x * 2)(np.arange(3)).dtype == "int64"
    with pytest.raises(fg.ShapeError, match="different sizes"):
        vmap(lambda x, y: x * y)(fg.tensor(a), b)


@pytest.mark.parametrize("chunk", [None, 1, 2, 7])
def test_axes(chunk: int | None) -> None:
    x, y = sample(3, 5), sample(3, 4, seed=1)
    want = np.stack([np.outer(np.asarray(x)[:, i], np.asarray(y)[:, 0]) for i in range(5)])
    for out in (0, 1, 2, -1):
        got = vmap(fg.outer, in_axes=(1, None), out_axes=out, chunk_size=chunk)(x, y[:, 0])
        same(got, np.moveaxis(want, 0, out))
    same(vmap(fg.outer, in_axes=[-1, None], chunk_size=chunk)(x, y[:, 0]), want)


def test_structures() -> None:
    p = {"a": sample(4, 2), "b": (sample(3, 4), 2.0)}

    def f(p: Any, flag: bool) -> Any:
        return {"s": p["a"] * p["b"][1], "t": [p["b"][0].sum(), fg.ones(2)]} if flag else None

    got = vmap(f, in_axes=({"a": 0, "b": (1, None)}, None), out_axes={"s": 1, "t": [0, None]})(p, True)
    same(got["s"], 2 * np.asarray(p["a"]).T)
    same(got["t"][0], np.asarray(p["b"][0]).sum(0))
    same(got["t"][1], np.ones(2))


def test_a_result_without_the_batch_axis_is_repeated() -> None:
    same(vmap(lambda x: fg.ones(2))(sample(3)), np.ones((3, 2)))
    same(vmap(lambda x: 2.0)(sample(3)), np.full(3, 2.0))


def test_nested() -> None:
    x, y = sample(3), sample(4, seed=1)
    got = vmap(vmap(lambda a, b: fg.sin(a) * b, (None, 0)), (0, None))(x, y)
    same(got, np.outer(np.sin(x), y))


def mlp(p: Any, x: Any, label: Any) -> Any:
    h = fg.relu(x @ p["w1"] + p["b1"])
    return fg.cross_entropy((h @ p["w2"] + p["b2"]).reshape([1, -1]), label.reshape([1]))


@pytest.mark.parametrize("chunk", [None, 3])
def test_per_sample_gradients(chunk: int | None) -> None:
    shapes = {"w1": (5, 4), "b1": (4,), "w2": (4, 3), "b2": (3,)}
    p = {k: sample(*s, seed=i) for i, (k, s) in enumerate(shapes.items())}
    x, labels = sample(8, 5, seed=9), fg.tensor(np.arange(8) % 3)
    values, each = vmap(value_and_grad(mlp), in_axes=(None, 0, 0), chunk_size=chunk)(p, x, labels)
    for i in range(8):
        value, one = value_and_grad(mlp)(p, x[i], labels[i])
        same(values[i], value)
        for k in p:
            same(each[k][i], one[k])
    whole = grad(lambda p: sum(mlp(p, x[i], labels[i]) for i in range(8)))(p)
    for k in p:
        same(each[k].sum(axis=0), whole[k])


def test_transforms_inside_vmap() -> None:
    x = sample(3, 2)

    def f(x: Any) -> Any:
        return fg.sin(x[0]) * x * x[1]

    for of in (jacrev, jacfwd, hessian):
        got = vmap(of(f))(x)
        for i in range(3):
            same(got[i], of(f)(x[i]))
    moved = vmap(lambda x, v: jvp(f, (x,), (v,))[1])(x, x)
    for i in range(3):
        same(moved[i], jvp(f, (x[i],), (x[i],))[1])
    both = vmap(lambda a: vmap(grad(lambda b: (fg.sin(a) * b**3).sum()))(fg.stack([a, 2 * a])))(x)
    a = np.asarray(x)
    same(both, np.stack([np.sin(a) * 3 * a**2, np.sin(a) * 12 * a**2], 1))


def test_transforms_around_vmap() -> None:
    w, x = sample(2), sample(3, 2, seed=1)
    a, n = np.asarray(w), np.asarray(x)

    def total(w: Any) -> Any:
        return vmap(lambda row: (fg.sin(w * row)).sum())(x).sum()

    same(grad(total)(w), (np.cos(a * n) * n).sum(0))
    same(hessian(total)(w), np.diag((-np.sin(a * n) * n * n).sum(0)))
    same(jvp(total, (w,), (w,))[1], (np.cos(a * n) * n * a).sum())
    rows = jacfwd(lambda w: vmap(lambda row: fg.sin(w * row))(x))(w)
    same(rows, np.einsum("bi,ij->bij", np.cos(a * n) * n, np.eye(2)))


def test_gradient_of_a_tracked_tensor_inside_and_after() -> None:
    w, x = sample(2, track=True), sample(3, 2, seed=1)
    g = vmap(grad(lambda row: (w * row**3).sum()))(x)
    same(g, 3 * np.asarray(w) * np.asarray(x) ** 2)
    same(fg.grad(g.sum(), w), (3 * np.asarray(x) ** 2).sum(0))


def test_writes_to_arguments_reach_the_caller() -> None:
    x, y = sample(3, 4), sample(4, seed=1)
    want = np.asarray(x) * 2
    for chunk in (None, 2):
        a = x.clone()
        whole = a[1]
        got = vmap(lambda v: v.mul_(2), in_axes=1, out_axes=1, chunk_size=chunk)(a)
        same(got, want)
        same(a, want)
        same(whole, want[1])
    a = x.clone()
    vmap(lambda v, w: v[1:3].copy_(w[:2]), in_axes=(0, None))(a, y)
    same(a[:, 1:3], np.broadcast_to(np.asarray(y)[:2], (3, 2)))
    a = x.clone()
    same_memory = vmap(lambda v: v.mul_(2), in_axes=1)(a)
    a[0] = 7.0
    same(same_memory, np.asarray(a).T)
    same_memory = vmap(lambda v: v, in_axes=1)(a)
    a[1] = 5.0
    same(same_memory, np.asarray(a).T)
    a = x.clone()
    view = a.reshape([12])
    got = vmap(lambda v: v.unsqueeze_(0).mul_(2))(a)
    assert got.shape == a.shape == (3, 1, 4)
    same(view, 2 * np.asarray(x).ravel())
    a = x.clone()
    vmap(lambda v, w: v.add_(w))(a, a)
    same(a, 2 * np.asarray(x))
    w = sample(4, seed=2, track=True)
    a = x.clone()
    vmap(lambda v, w: v.mul_(w), in_axes=(0, None))(a, w)
    same(fg.grad(a.sum(), w), np.asarray(x).sum(0))
    # A tensor shared by the whole batch cannot hold one value for each sample.
    with pytest.raises(fg.VmapError, match="the same for the whole batch"):
        vmap(lambda v, w: w.copy_(v), in_axes=(0, None))(x, y)


def test_axis_size_gives_the_batch_size() -> None:
    same(vmap(lambda: fg.ones(2), axis_size=3)(), np.ones((3, 2)))
    same(vmap(lambda x: x, in_axes=None, axis_size=3)(sample(2)), np.stack([np.asarray(sample(2))] * 3))
    assert vmap(fg.sin, axis_size=3)(sample(3)).shape == (3,)
    with pytest.raises(fg.ShapeError, match="batches of different sizes"):
        vmap(fg.sin, axis_size=2)(sample(3))
    for wrong in (-1, 2.0, True, 10**30):
        with pytest.raises(fg.ArgumentError, match="axis_size"):
            vmap(fg.sin, axis_size=wrong)


def test_results_that_are_not_tensors_need_out_axes_none() -> None:
    _, b = vmap(lambda v: (v, "text"), out_axes=(0, None))(sample(3))
    assert b == "text"
    same(vmap(lambda v: v, out_axes=(1,))(sample(3, 2)), np.asarray(sample(3, 2)).T)
    for out, error in (
        ("x", fg.ArgumentError),
        (5, fg.IndexOutOfRange),
        (-(10**30), IndexError),
        (True, fg.ArgumentError),
    ):
        with pytest.raises(error):
            vmap(lambda v: v, out_axes=out)(sample(3, 2))


def test_wrong_arguments_raise() -> None:
    x = sample(3, 2)
    with pytest.raises(fg.ShapeError, match="no argument has a batch axis"):
        vmap(fg.sin, in_axes=None)(x)
    with pytest.raises(fg.ShapeError, match=r"x of shape \(3, 2\) has 3 in axis 0, y .* has 2 in axis 1"):
        vmap(fg.add, in_axes=(0, 1))(x, x)
    with pytest.raises(fg.IndexOutOfRange, match="no axis 2"):
        vmap(fg.sin, in_axes=2)(x)
    with pytest.raises(fg.ArgumentError, match="in_axes"):
        vmap(fg.sin, in_axes=(0, 0))(x)
    with pytest.raises(fg.ArgumentError, match="in_axes holds ints"):
        vmap(fg.sin, in_axes="0")(x)
    with pytest.raises(fg.ArgumentError, match="out_axes"):
        vmap(fg.sin, out_axes=(0, 0))(x)
    with pytest.raises(fg.ArgumentError, match="out_dims"):
        vmap(fg.sin, out_axes=None)(x)
    with pytest.raises(fg.ArgumentError, match="chunk_size"):
        vmap(fg.sin, chunk_size=0)
    with pytest.raises(fg.ArgumentError, match="not str"):
        vmap(lambda x: "text")(x)
    with pytest.raises(fg.FerrogradError, match="vmap"):
        vmap(lambda x: x.sum().item())(x)


@pytest.mark.parametrize("size", [0, 1, 2])
def test_a_write_to_a_view_reaches_its_base(size: int) -> None:
    def written(z: Any) -> Any:
        z = z.clone()
        v, row, column, turned = z[:, :1], z[0], z[:, 1], fg.swapaxes(z, 0, 1)
        v *= 2
        row += 10
        column.copy_(fg.sin(column))
        turned[2] = 7
        return z

    x = sample(size, 2, 3)
    expected = [written(x[i]) for i in range(size)]
    same(vmap(written)(x), np.stack(expected) if size else np.zeros((0, 2, 3)))
    # The first column is doubled, the second a sine, and the third a constant.
    slopes = vmap(grad(lambda z: fg.sum(written(z))))(x)
    same(slopes[:, :, 0], np.full((size, 2), 2.0))
    same(slopes[:, :, 2], np.zeros((size, 2)))


class Halves(fg.Function):
    """Half of a product, computed by NumPy."""

    @staticmethod
    def forward(ctx: Any, x: Any, y: Any) -> Any:
        ctx.save_for_backward(x, y)
        return fg.tensor(x.numpy() * y.numpy() / 2)

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        x, y = ctx.saved_tensors
        return Halves.apply(g, y), Halves.apply(g, x)


def test_functions_of_numbers_give_each_element_its_own_second_derivative() -> None:
    """Operands that have no batch have another gradient for each element, where the cotangents have one."""

    def f(x: Any, w: Any) -> Any:
        return grad(grad(lambda x: Halves.apply(x, x) * Halves.apply(x, w)))(x)

    x, w = fg.tensor(2.0, dtype="float64"), fg.tensor([1.0, 2.0, 3.0], dtype="float64")
    found = vmap(f, in_axes=(None, 0))(x, w)
    assert found.tolist() == [f(x, one).item() for one in w] == [3.0, 6.0, 9.0]

    def square(x: Any) -> Any:
        return cond(x.sum() > 0, lambda x: x * x, lambda x: x, x)

    def branch(x: Any, w: Any) -> Any:
        return grad(grad(lambda x: square(x) ** 2 * w))(x)

    batched = vmap(branch, in_axes=(None, 0))
    assert fg.compile(batched)(x, w).tolist() == batched(x, w).tolist() == [branch(x, one).item() for one in w]
