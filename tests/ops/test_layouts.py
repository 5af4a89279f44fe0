"""Results whose axes are not in C order in memory, and copies between any two layouts."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import ferrograd as fg
import ferrograd.torch as torch
import numpy as np
import pytest

from tests.cases import rng

ORDERS = list(itertools.permutations(range(3)))
#: Small shapes, shapes whose copies are split over threads, and shapes that are no multiple of a tile.
SHAPES = [(2, 3, 4), (1, 5, 1), (17, 33, 9), (70, 64, 130), (3, 300, 301), (40, 1, 5000), (0, 3, 2)]


def filled(shape: tuple[int, ...], dtype: Any) -> np.ndarray:
    return (rng(len(shape)).normal(size=shape) * 50).astype(dtype)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int16, np.int8, np.bool_])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_copies_from_every_order_of_axes(shape: tuple[int, ...], dtype: Any) -> None:
    a = filled(shape, dtype)
    x = fg.tensor(a)
    for order in ORDERS:
        moved, expected = fg.permute_dims(x, order), a.transpose(order)
        copy = moved.contiguous()
        assert copy.is_contiguous()
        assert np.array_equal(copy.numpy(), expected)
        assert np.array_equal(fg.flip(moved, (0, 2)).clone().numpy(), expected[::-1, :, ::-1])
        assert np.array_equal(moved[:, ::2].clone().numpy(), expected[:, ::2])
        assert np.array_equal(fg.reshape(moved, (-1,)).numpy(), expected.reshape(-1))


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_concat_stack_roll_and_pad_of_every_layout(shape: tuple[int, ...]) -> None:
    a = filled(shape, np.float32)
    for order in ORDERS:
        x, b = fg.permute_dims(fg.tensor(a), order), a.transpose(order)
        for axis in range(3):
            assert np.array_equal(fg.concat([x, x], axis).numpy(), np.concatenate([b, b], axis))
            assert np.array_equal(fg.stack([x, x, x], axis).numpy(), np.stack([b, b, b], axis))
            assert np.array_equal(fg.roll(x, 2, axis).numpy(), np.roll(b, 2, axis))
        assert np.array_equal(fg.pad(x, (1, 2)).numpy(), np.pad(b, (1, 2)))
        assert np.array_equal(
            fg.pad(x, ((0, 0), (3, 0), (0, 1)), value=7).numpy(), np.pad(b, ((0, 0), (3, 0), (0, 1)), constant_values=7)
        )


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_elementwise_functions_keep_the_layout(shape: tuple[int, ...]) -> None:
    a = filled(shape, np.float64)
    for order in ORDERS:
        x, b = fg.permute_dims(fg.tensor(a), order), a.transpose(order)
        flat = x.is_contiguous()
        row, column = b[:1, :1], b[:, :1, :1]
        for y, expected in (
            (fg.abs(x), np.abs(b)),
            (x + x, b + b),
            (x * 2, b * 2),
            (3 - x, 3 - b),
            (x > 0, b > 0),
            (fg.where(x > 0, x, -x), np.abs(b)),
        ):
            assert y.is_contiguous() == flat
            assert np.array_equal(y.numpy(), expected)
        for y, expected in (
            (x + fg.tensor(row), b + row),
            (fg.tensor(column) * x, column * b),
            (x + fg.tensor(np.ascontiguousarray(b)), b + b),
            (fg.where(x > 0, fg.tensor(np.ascontiguousarray(b)), -x), np.abs(b)),
        ):
            assert np.array_equal(y.numpy(), expected)


def test_a_large_matrix_and_its_transpose() -> None:
    for n, m in ((700, 700), (64, 5000), (5000, 64), (65, 3001)):
        a, b = filled((n, m), np.float32), filled((m, n), np.float32)
        x, y = fg.tensor(a), fg.tensor(b)
        assert np.array_equal((x + y.T).numpy(), a + b.T)
        assert np.array_equal((y.T - x).numpy(), b.T - a)
        assert np.array_equal(fg.less(y.T, x).numpy(), np.less(b.T, a))


def test_a_result_in_another_layout_is_like_any_other(tmp_path: Path) -> None:
    a = (filled((3, 4), np.float32) / 50).astype(np.float32)
    y = torch.from_numpy(a).T + 1
    expected = a.T + 1
    assert not y.is_contiguous()
    assert y.stride() == (1, 4)
    # Views, and writes through them.
    view = y[1:]
    view[0] = 5.0
    expected[1] = 5.0
    assert np.array_equal(y.numpy(), expected)
    y += 1
    y[:, 0] *= 2
    expected += 1
    expected[:, 0] *= 2
    assert np.array_equal(y.numpy(), expected)
    assert np.array_equal(view.numpy(), expected[1:])
    assert np.array_equal(y.reshape(-1).numpy(), expected.reshape(-1))
    assert np.array_equal(np.from_dlpack(torch.from_numpy(a).T + 1), a.T + 1)
    torch.save(torch.from_numpy(a).T + 1, tmp_path / "y")
    assert np.array_equal(torch.load(tmp_path / "y").numpy(), a.T + 1)
    # First and second derivatives.
    x = torch.tensor(a, requires_grad=True)
    (g,) = torch.autograd.grad((torch.exp(x.T) * x.T).sum(), x, create_graph=True)
    assert np.allclose(g.detach().numpy(), np.exp(a) * (a + 1))
    (h,) = torch.autograd.grad(g.sum(), x)
    assert np.allclose(h.numpy(), np.exp(a) * (a + 2))
