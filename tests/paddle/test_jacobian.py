"""``paddle.autograd.jacobian`` and ``hessian``, and ``paddle.incubate.autograd``."""

from __future__ import annotations

from typing import Any

import ferrograd as fg
import numpy as np
import pytest
from ferrograd import paddle
from ferrograd.paddle import incubate

from tests.func.tools import same

INDICES: list[Any] = [
    np.s_[:],
    np.s_[0],
    np.s_[-1],
    np.s_[0:2],
    np.s_[::2],
    np.s_[0, 1],
    np.s_[:, 1],
    np.s_[1, :],
    np.s_[0:2, 1:3],
    np.s_[-2:],
    np.s_[...],
    np.s_[..., 0],
]


def sample(*shape: int, seed: int = 0, track: bool = True) -> Any:
    return paddle.to_tensor(np.random.default_rng(seed).normal(size=shape), stop_gradient=not track)


@pytest.mark.parametrize("index", INDICES, ids=repr)
def test_rows_on_demand(index: Any) -> None:
    x = sample(3)
    n = np.asarray(x)
    j = paddle.autograd.jacobian(x * x * x.sum(), x)
    want = np.diag(2 * n * n.sum()) + (n * n)[:, None]
    assert j.shape == [3, 3]
    same(j[index], want[index])
    h = paddle.autograd.hessian((x**3).sum() * x[0], x)
    want = 6 * np.diag(n) * n[0]
    want[0] += 3 * n**2
    want[:, 0] += 3 * n**2
    same(h[index], want[index])
    assert isinstance(h, paddle.autograd.Hessian)


@pytest.mark.parametrize("index", [*INDICES[:10], np.s_[0, 1, 2], np.s_[:, :, 1], np.s_[0:2, 0, 1:3]], ids=repr)
def test_batches(index: Any) -> None:
    x = sample(4, 3)
    n = np.asarray(x)
    j = paddle.autograd.jacobian(x * x, x, batch_axis=0)
    assert j.shape == [4, 3, 3]
    same(j[index], (2 * n[:, :, None] * np.eye(3))[index])
    h = paddle.autograd.hessian((x**3).sum(-1), x, batch_axis=0)
    same(h[index], (6 * n[:, :, None] * np.eye(3))[index])


def test_0d_inputs_and_outputs() -> None:
    x, s = sample(3), sample()
    assert paddle.autograd.jacobian(s * s, s).shape == []
    same(paddle.autograd.jacobian(s * s, s) + 0, 2 * np.asarray(s))
    same(paddle.autograd.jacobian((x * x).sum(), x)[1:], 2 * np.asarray(x)[1:])
    same(paddle.autograd.jacobian(paddle.stack([s, s * s]), s)[:], [1, 2 * np.asarray(s)])
    b = sample(4)
    same(paddle.autograd.jacobian(b * b, b, batch_axis=0)[0:2], 2 * np.asarray(b)[0:2])
    with pytest.raises(IndexError, match="0-D tensor can not be indexed"):
        paddle.autograd.jacobian(s * s, s)[:]


def test_arithmetic_of_lazy_jacobians() -> None:
    x = sample(3)
    j, k = paddle.autograd.jacobian(x * x, x), paddle.autograd.jacobian(x**3, x)
    a, b = np.diag(2 * np.asarray(x)), np.diag(3 * np.asarray(x) ** 2)
    for got, want in [
        (j + 1, a + 1),
        (1 - j, 1 - a),
        (j - k, a - b),
        (2.0 * j, 2 * a),
        (j / 2.0, a / 2),
        (j**2, a**2),
        (j @ k, a @ b),
        (-j, -a),
        (j.sum(), a.sum()),
        (j.T, a),
        (j.reshape([9]), a.ravel()),
        (abs(j), abs(a)),
    ]:
        same(got, want)
    for got, want in [(j == k, a == b), (j != k, a != b), (j < k, a < b), (j >= 0, a >= 0)]:
        assert np.array_equal(got, want)
    assert np.array_equal(np.asarray(j), a)
    assert repr(j).startswith("Tensor(shape=[3, 3]")
    assert len(j) == 3
    assert len({j, k}) == 2


def test_several_inputs_and_unused_ones() -> None:
    x, y = sample(3), sample(2, seed=1)
    z, w = x.sum() * y, x * 2
    j = paddle.autograd.jacobian([z, w], [x, y])
    same(j[0][0][:], np.outer(y, np.ones(3)))
    same(j[1][1][:], np.zeros((3, 2)))
    assert not j[1][1][:].stop_gradient
    same(paddle.autograd.jacobian(w, [x, y])[0][:], 2 * np.eye(3))
    same(paddle.autograd.jacobian([w, z], x)[0][1], [0.0, 2.0, 0.0])
    h = paddle.autograd.hessian((x**2).sum() * (y**3).sum(), [x, y])
    same(h[0][1][:], np.outer(2 * np.asarray(x), 3 * np.asarray(y) ** 2))
    same(paddle.autograd.hessian(x.sum(), x)[:], np.zeros((3, 3)))


def test_results_are_tracked() -> None:
    x = sample(3)
    h = paddle.autograd.hessian((x**4).sum(), x)[:]
    same(paddle.grad(h.sum(), x)[0], 24 * np.asarray(x))


def test_only_requested_rows_are_computed() -> None:
    x = sample(1000)
    j = paddle.autograd.jacobian(x * x, x)
    j[7], j[10:12]
    assert sorted(map(len, j._rows._known)) == [1, 2]
    before = j[7]
    assert np.array_equal(before, j[7])


def test_vjp_and_jvp() -> None:
    x, y = sample(3, track=False), sample(3, seed=1)
    for xs in (x, y):
        _, g = incubate.autograd.vjp(lambda x: x**3, xs)
        same(g, 3 * np.asarray(xs) ** 2)
        same(paddle.grad(g.sum(), xs)[0] if xs is y else g, 6 * np.asarray(y) if xs is y else g)
        _, t = incubate.autograd.jvp(lambda x: x**3, xs, x)
        same(t, 3 * np.asarray(xs) ** 2 * np.asarray(x))
    _, g = incubate.autograd.vjp(lambda x, y: (x * y, x), [x, y], [x, y])
    assert isinstance(g, tuple)
    same(g[0], np.asarray(x) * np.asarray(y) + np.asarray(y))
    _, t = incubate.autograd.jvp(lambda x, y: (x * y, x), (x, y))
    same(t[0], np.asarray(x) + np.asarray(y))
    same(incubate.autograd.vjp(lambda x: paddle.ones([2]), x)[1], np.zeros(3))


def test_incubate_jacobian_and_hessian() -> None:
    x = sample(2, 2)
    n = np.asarray(x)
    j = incubate.autograd.Jacobian(lambda x, y: paddle.matmul(x, y), [x, x])
    assert j.shape == (4, 8)
    same(j[1, :], [n[0, 1] * 0 + n[0, 1], n[1, 1], 0, 0, 0, n[0, 0], 0, n[0, 1]])
    h = incubate.autograd.Hessian(lambda x: (x**3).sum(), x)
    same(h[:], 6 * np.diag(n.ravel()))
    b = incubate.autograd.Jacobian(lambda x: x**2, x, is_batched=True)
    same(b[:], 2 * n[:, :, None] * np.eye(2))
    hb = incubate.autograd.Hessian(lambda x: (x**3).sum(-1, keepdim=True), x, is_batched=True)
    assert hb.shape == (2, 2, 2)
    same(hb[:, 0], 6 * n[:, 0, None] * [1, 0])


def test_wrong_arguments_raise() -> None:
    x, m = sample(3), sample(2, 2)
    jacobian, hessian = paddle.autograd.jacobian, paddle.autograd.hessian
    with pytest.raises(ValueError, match="batch_axis should be None or 0, but got 1"):
        jacobian(x, x, batch_axis=1)
    with pytest.raises(ValueError, match=r"xs\.ndim should be 0 or 1 when is_batched=False but got 2"):
        jacobian(m.sum(), m)
    with pytest.raises(ValueError, match=r"ys\.ndim should be 1 or 2 when is_batched=True but got 0"):
        jacobian(m.sum(), m, batch_axis=0)
    with pytest.raises(ValueError, match=r"Only support ys.numel\(\)\(3\)==1 when batch_axis is None"):
        hessian(x, x)
    with pytest.raises(ValueError, match=r"Only support ys\[0\].numel\(\)\(2\)==1"):
        hessian(m * m, m, batch_axis=0)
    with pytest.raises(ValueError, match="Only support batch_axis=0 yet"):
        hessian(m.sum(-1), m, batch_axis=1)
    with pytest.raises(ValueError, match="batch_axis should be None or int"):
        hessian(m.sum(-1), m, batch_axis="0")  # type: ignore[arg-type]
    with pytest.raises(IndexError, match="there is no row 5 of 3"):
        jacobian(x * x, x)[5]
    with pytest.raises(fg.ShapeError, match="batch of 2"):
        jacobian(m, sample(3, 2), batch_axis=0)
    with pytest.raises(TypeError, match="ys must be"):
        jacobian(3, x)
    products = incubate.autograd
    with pytest.raises(TypeError, match="Expected 'fun' is Callable"):
        products.vjp(3, x)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="Expected 'xs' is Tensor"):
        products.jvp(paddle.sin, 3)
    with pytest.raises(TypeError, match="All elements of 'v' should be Tensor"):
        products.vjp(paddle.sin, x, [3])
    with pytest.raises(RuntimeError, match=r"The v\[0\] has invalid shape: should be \[3\] but got \[2\]"):
        products.jvp(paddle.sin, x, sample(2))
    with pytest.raises(RuntimeError, match="tuple of invalid length"):
        products.vjp(paddle.sin, x, [x, x])
    with pytest.raises(RuntimeError, match="single element"):
        products.Hessian(lambda x: x * x, x)
