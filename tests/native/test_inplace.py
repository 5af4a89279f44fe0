"""In-place writes: when they are allowed, how they are recorded, and that earlier results do not change."""

from __future__ import annotations

from typing import Any

import ferrograd as fg
import numpy as np
import pytest
from ferrograd import _core

PADDLE, TORCH = 1, 2


def make(data: Any, tracked: bool = True, dialect: int = 0) -> Any:
    return _core.make(np.asarray(data, np.float64), None, tracked, dialect)


def same(got: Any, want: Any) -> None:
    np.testing.assert_array_equal(np.asarray(got), want)


def grads(out: Any, *inputs: Any) -> Any:
    return fg.grad(out, list(inputs))


def test_a_leaf_written_without_recording_is_differentiated_at_its_new_value() -> None:
    x = make([1.0, 2.0])
    with fg.no_grad():
        x.mul_(3.0)
        x[1] = 5.0
    same(grads((x * x).sum(), x)[0], [6, 10])


def test_a_result_written_without_recording_keeps_its_history() -> None:
    x = make([1.0, 2.0])
    y = x * 2
    with fg.no_grad():
        y[0] = 100.0
    same(grads((y * y).sum(), x)[0], [400, 16])


def test_set_value_and_copy() -> None:
    x = make([1.0, 2.0])
    x.set_value(np.array([3.0, 4.0], np.float32))
    assert x.is_leaf
    assert x.inplace_version == 1
    same(grads((x * x).sum(), x)[0], [6, 8])
    with pytest.raises(_core.ShapeError, match="set_value"):
        x.set_value([1.0])
    source = make([7.0])
    y = x * 1
    y.copy_(source)
    same(y, [7, 7])
    dx, ds = fg.grad(y.sum(), [x, source])
    same(dx, [0, 0])
    same(ds, [2])


def test_versions_count_writes() -> None:
    x = make(np.zeros((2, 2)), tracked=False)
    assert x.inplace_version == 0
    x[0] = 1.0
    x.set_value(np.ones((2, 2)))
    x += 1
    x.add_(x)
    assert x.inplace_version == 4
    with pytest.raises(_core.ShapeError):
        x[0] = np.zeros(3)
    assert x.inplace_version == 4
    same(x, np.full((2, 2), 4))


def test_a_write_keeps_shape_and_dtype() -> None:
    x = make([[1.0], [2.0]], tracked=False)
    with pytest.raises(_core.ShapeError, match="cannot be written into the shape"):
        x.add_(np.ones((2, 2)))
    i = fg.tensor([1, 2])
    with pytest.raises(_core.DtypeError, match="can't be cast to the desired output type int64"):
        i.add_(0.5)
    with pytest.raises(_core.DtypeError):
        i *= 0.5
    i += 1
    assert i.dtype == np.int64
    half = fg.tensor(np.ones(2, np.float32))
    half.add_(np.ones(2))
    assert half.dtype == np.float32
    same(i, [2, 3])
    same(half, [2, 2])


def test_in_place_forms_that_change_the_shape() -> None:
    x = make(np.arange(6.0), tracked=False)
    assert x.reshape_(2, 3) is x
    assert x.unsqueeze_(0).shape == (1, 2, 3)
    assert x.squeeze_().shape == (2, 3)
    assert x.transpose_().shape == (3, 2)
    same(x, np.arange(6.0).reshape(2, 3).T)


def test_augmented_assignment_writes_in_place_natively_and_in_torch() -> None:
    for dialect in (0, TORCH):
        x = make([1.0, 1.0], tracked=False, dialect=dialect)
        y = x
        y += 1
        assert y is x
        same(x, [2, 2])
        y -= 1
        y *= 6
        y /= 3
        same(x, [2, 2])
        leaf = make([1.0, 1.0], dialect=dialect)
        with pytest.raises(_core.LeafInplaceError):
            leaf += 1


def test_augmented_assignment_rebinds_in_paddle() -> None:
    x = make([1.0, 1.0], dialect=PADDLE)
    y = x
    y += 1
    assert y is not x
    same(y, [2, 2])
    same(x, [1, 1])
    same(grads(y.sum(), x)[0], [1, 1])
    assert type(y) is type(x)


def test_a_write_reads_the_tensor_it_goes_to() -> None:
    x = make([1.0, 2.0, 3.0], tracked=False)
    x[1:] = x[:-1]
    same(x, [1, 1, 2])
    x[...] = x


def test_writes_reuse_the_memory_that_nobody_else_holds() -> None:
    x = make(np.zeros(1000), tracked=False)
    x[0] = 1.0
    at = x.numpy().ctypes.data
    for i in range(5):
        x[i] = i
    assert x.numpy().ctypes.data == at
    seen = x.numpy()
    x[0] = 9.0
    assert seen[0] == 0


def test_tensors_made_by_a_write_are_like_any_result() -> None:
    a = make([1.0, 2.0])
    x = fg.tensor(np.zeros(2))
    x[1] = a[0] * 3
    assert not x.is_leaf
    same(fg.grad((x * x).sum(), a, retain_graph=True), [18, 0])
    (g,) = fg.grad((x * x * x).sum(), [a], create_graph=True)
    same(grads(g.sum(), a)[0], [162, 0])
