"""Reductions, products, sorts and norms of arrays large enough for every path of their kernels."""

from __future__ import annotations

from typing import Any

import ferrograd as fg
import ferrograd.torch as torch
import numpy as np
import pytest

from tests.cases import rng

SHAPES = [(5,), (1000,), (5000,), (300_000,), (40, 5000), (5000, 40), (7, 60, 500), (3, 3000, 70)]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_extremes_find_a_nan_at_any_position(shape: tuple[int, ...], dtype: Any) -> None:
    a = rng().normal(size=shape).astype(dtype)
    for place in (None, 0, a.size // 2, a.size - 1, a.size // 3):
        if place is not None:
            a.flat[place] = np.nan if place % 2 else -np.nan
        x = fg.tensor(a)
        for axis in (None, *range(a.ndim)):
            for name in ("max", "min"):
                found = getattr(fg, name)(x, axis=axis).numpy()
                assert np.array_equal(found, getattr(np, name)(a, axis=axis), equal_nan=True), (name, axis, place)
        if place is not None:
            a.flat[place] = 0


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int8, np.int32, np.int64, np.uint8])
def test_sorts_of_rows_of_every_length(dtype: Any) -> None:
    random = rng()
    for n, k in ((1, 1), (9, 3), (100, 5), (1000, 64), (1000, 65), (1000, 700), (3000, 1)):
        a = (random.normal(size=(4, n)) * 20).astype(dtype)
        if np.issubdtype(dtype, np.floating):
            a[0, n // 2], a[1, 0], a[2, :2] = np.nan, -np.inf, -0.0
        x = fg.tensor(a)
        for largest in (False, True):
            # The sort is stable; NaN is the largest.
            keys = np.where(np.isnan(a), np.inf, a).astype(float)
            nan = np.isnan(a)
            expected = np.stack(
                [
                    np.lexsort((np.arange(n), -row if largest else row, ~m if largest else m))
                    for row, m in zip(keys, nan, strict=True)
                ]
            )
            values, indices = fg.topk(x, k, largest=largest)
            assert np.array_equal(indices.numpy(), expected[:, :k])
            assert np.array_equal(values.numpy(), np.take_along_axis(a, expected[:, :k], 1), equal_nan=True)
            assert np.array_equal(fg.argsort(x, descending=largest).numpy(), expected)
        assert np.array_equal(
            fg.median(x, axis=1).numpy(), np.median(a, axis=1).astype(fg.median(x).numpy().dtype), equal_nan=True
        )


@pytest.mark.parametrize("shape", [(3,), (70_000,), (9, 1000), (30, 40, 50)], ids=str)
def test_running_products_of_many_rows(shape: tuple[int, ...]) -> None:
    a = 1 + rng().normal(size=shape) / np.sqrt(max(shape)) / 4
    x = fg.tensor(a, requires_grad=True)
    for axis in range(len(shape)):
        y = fg.cumprod(x, axis)
        assert np.allclose(y.numpy(), np.cumprod(a, axis), rtol=1e-12)
        weights = rng(1).normal(size=shape)
        g = fg.grad(y, x, fg.tensor(weights))
        flow = np.flip(np.cumsum(np.flip(weights * np.cumprod(a, axis), axis), axis), axis)
        assert np.allclose(g.numpy(), flow / a, rtol=1e-9, atol=1e-12)
        g = fg.grad(fg.prod(x, axis=axis).sum(), x)
        assert np.allclose(g.numpy(), np.prod(a, axis=axis, keepdims=True) / a, rtol=1e-10)


@pytest.mark.parametrize("n", [1, 1023, 1025, 32_768, 100_001, 1_000_000])
def test_inner_products_of_any_length(n: int) -> None:
    a, b = rng().normal(size=(2, 3, n))
    x, y = fg.tensor(a[0], requires_grad=True), fg.tensor(b[0])
    assert np.allclose(fg.dot(x, y).item(), a[0] @ b[0], rtol=1e-12, atol=1e-12)
    assert np.allclose(fg.vecdot(fg.tensor(a), fg.tensor(b)).numpy(), (a * b).sum(1), rtol=1e-12, atol=1e-12)
    g = fg.grad(fg.dot(x, y), x)
    assert np.array_equal(g.numpy(), b[0])


@pytest.mark.parametrize(
    ("shape", "groups"), [((6, 1000), 0), ((2000, 300), 0), ((9, 8), 4), ((3, 8, 400), 4), ((2, 6, 33, 9), 1)]
)
def test_norms_of_large_inputs(shape: tuple[int, ...], groups: int) -> None:
    random = rng()
    a, w, b, weights = (random.normal(size=s) for s in (shape, shape[1], shape[1], shape))
    x, weight, bias = (fg.tensor(v, requires_grad=True) for v in (a, w, b))

    def plain(x: Any, weight: Any, bias: Any) -> Any:
        rows = fg.reshape(x, (shape[0], max(groups, 1), -1))
        y = rows - fg.mean(rows, axis=-1, keepdims=True)
        y = fg.reshape(y / fg.sqrt(fg.mean(y * y, axis=-1, keepdims=True) + 1e-5), shape)
        column = (shape[1],) + (1,) * (len(shape) - 2)
        return y * fg.reshape(weight, column) + fg.reshape(bias, column)

    y = fg.group_norm(x, groups, weight, bias) if groups else fg.layer_norm(x, [shape[1]], weight, bias)
    z = plain(x, weight, bias)
    assert np.allclose(y.numpy(), z.numpy(), rtol=1e-10, atol=1e-10)
    found, expected = (fg.grad(v, [x, weight, bias], fg.tensor(weights)) for v in (y, z))
    for f, e in zip(found, expected, strict=True):
        assert np.allclose(f.numpy(), e.numpy(), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("shape", [(3, 2, 700), (200, 5), (70, 600), (2, 300, 2, 2), (1, 3, 40, 40)], ids=str)
def test_batch_norm_of_large_inputs(shape: tuple[int, ...]) -> None:
    random = rng()
    a, w, b, weights = (random.normal(size=s) for s in (shape, shape[1], shape[1], shape))
    x, weight, bias = (fg.tensor(v, requires_grad=True) for v in (a, w, b))
    axes, column = (0, *range(2, len(shape))), (shape[1],) + (1,) * (len(shape) - 2)
    y, mean, variance = fg.batch_norm(x, weight, bias)
    centred = x - fg.mean(x, axis=axes, keepdims=True)
    z = centred / fg.sqrt(fg.mean(centred * centred, axis=axes, keepdims=True) + 1e-5)
    z = z * fg.reshape(weight, column) + fg.reshape(bias, column)
    assert np.allclose(y.numpy(), z.numpy(), rtol=1e-10, atol=1e-10)
    assert np.allclose(mean.numpy(), a.mean(axes))
    assert np.allclose(variance.numpy(), a.var(axes))
    found, expected = (fg.grad(v, [x, weight, bias], fg.tensor(weights)) for v in (y, z))
    for f, e in zip(found, expected, strict=True):
        assert np.allclose(f.numpy(), e.numpy(), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("shape", [(0, 4, 2), (2, 4, 0), (2, 0, 3)], ids=str)
def test_norms_of_empty_inputs(shape: tuple[int, ...]) -> None:
    x, weight, bias = (fg.tensor(np.ones(s), requires_grad=True) for s in (shape, shape[1], shape[1]))
    y = fg.group_norm(x, 2, weight, bias)
    assert y.shape == shape
    found = fg.grad(y.sum(), [x, weight, bias])
    assert [g.shape for g in found] == [shape, shape[1:2], shape[1:2]]
    assert not any(g.numpy().any() for g in found)
    y, mean, _ = fg.batch_norm(x, weight, bias)
    assert y.shape == shape
    assert mean.shape == shape[1:2]
    assert [g.shape for g in fg.grad(y.sum(), [x, weight, bias])] == [shape, shape[1:2], shape[1:2]]


@pytest.mark.parametrize("dtype", [np.float32, np.int64])
@pytest.mark.parametrize(
    ("shape", "row"),
    [
        ((3000, 3), (3,)),
        ((4099, 7), (7,)),
        ((6, 1000, 10), (1, 10)),
        ((6, 1000, 10), (6, 1, 10)),
        ((6, 1000, 10), (6, 1, 1)),
        ((6, 1000, 10), (1000, 1)),
        ((20, 30, 40, 3), (20, 1, 1, 3)),
        ((64, 64, 2), (64, 1, 2)),
        ((100_000, 200), (200,)),
    ],
    ids=str,
)
def test_a_short_row_broadcasts_against_many(shape: tuple[int, ...], row: tuple[int, ...], dtype: Any) -> None:
    random = rng()
    a, b = (random.normal(size=shape) * 9).astype(dtype), (random.normal(size=row) * 9).astype(dtype)
    x, y = fg.tensor(a), fg.tensor(b)
    assert np.array_equal((x - y).numpy(), a - b)
    assert np.array_equal((y - x).numpy(), b - a)
    assert np.array_equal((x < y).numpy(), a < b)
    assert np.array_equal(fg.where(x > 0, x, y).numpy(), np.where(a > 0, a, b))
    assert np.array_equal(fg.where(y > 0, x, 1).numpy(), np.where(b > 0, a, 1))


def test_norms_of_constants_have_second_derivatives_by_their_weights() -> None:
    x, weight = fg.tensor([[1.0, 5.0], [3.0, 9.0]]), fg.tensor([2.0, -1.0], requires_grad=True)
    for y in (fg.batch_norm(x, weight, eps=0.0)[0], fg.layer_norm(x, [2], weight, eps=0.0)):
        by_weight = fg.grad((y * y).sum(), weight, create_graph=True)
        assert by_weight.tolist() == [8.0, -4.0]
        assert fg.grad(by_weight.sum(), weight).tolist() == [4.0, 4.0]


def nothing(*shape: int) -> Any:
    return fg.zeros(shape)


# Each shape has no elements, and each axis that a loop might run over is too long for any loop.
@pytest.mark.parametrize(
    ("f", "shape"),
    [
        (lambda: nothing(0, 2**62) @ nothing(2**62, 0), (0, 0)),
        (lambda: fg.cov(nothing(0, 2**62)), (0, 0)),
        (lambda: fg.einsum("ij,jk", nothing(0, 2**62), nothing(2**62, 0)), (0, 0)),
        (lambda: fg.batch_norm(nothing(0, 4, 2**40))[0], (0, 4, 2**40)),
        (lambda: fg.linalg.householder_product(nothing(2**40, 0), nothing(0)), (2**40, 0)),
        (lambda: torch.geqrf(torch.zeros(2**40, 0, 0))[0], (2**40, 0, 0)),
        (lambda: torch.ormqr(torch.zeros(2**40, 0), torch.zeros(0), torch.zeros(2**40, 0)), (2**40, 0)),
        (lambda: fg.conv1d(nothing(0, 2**40, 2), nothing(0, 2**40, 2)), (0, 0, 1)),
    ],
)
def test_giants_without_elements_are_done_at_once(f: Any, shape: tuple[int, ...]) -> None:
    assert tuple(f().shape) == shape


def test_windows_too_many_for_memory_are_a_lack_of_memory() -> None:
    with pytest.raises(MemoryError, match="max_pool1d"):
        fg.max_pool1d(fg.broadcast_to(fg.tensor(1.0), (1, 3, 2**40)), 8)
