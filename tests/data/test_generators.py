"""``paddle.io.DataLoader.from_generator``: batches of what a generator yields."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import ferrograd.paddle as _paddle
import numpy as np
import pytest

paddle: Any = _paddle
DataLoader = paddle.io.DataLoader


def samples() -> Iterator[tuple[np.ndarray, int]]:
    for i in range(5):
        yield np.full(2, i, np.float32), i


def test_the_three_ways_to_give_a_generator() -> None:
    by_sample = DataLoader.from_generator(capacity=4)
    assert by_sample.set_sample_generator(samples, batch_size=2) is by_sample
    batches = [[x.tolist() for x in batch] for batch in by_sample]
    assert batches == [[[[0.0, 0.0], [1.0, 1.0]], [0, 1]], [[[2.0, 2.0], [3.0, 3.0]], [2, 3]]]
    # Each loop is a pass over the generator.
    assert [[x.tolist() for x in batch] for batch in by_sample()] == batches
    whole = DataLoader.from_generator().set_sample_generator(samples, 2, drop_last=False)
    assert [len(labels) for _, labels in whole] == [2, 2, 1]
    by_list = DataLoader.from_generator().set_sample_list_generator(paddle.batch(samples, 2, drop_last=True))
    assert [[x.tolist() for x in batch] for batch in by_list] == batches
    arrays = [(np.ones([2, 3], np.float64), paddle.zeros([2]))]
    ((x, y),) = DataLoader.from_generator().set_batch_generator(lambda: arrays)
    assert (x.dtype, x.shape, y) == (paddle.float64, [2, 3], arrays[0][1])
    assert type(x) is paddle.Tensor
    assert paddle.base.io.DataLoader is DataLoader


def test_a_loader_without_a_generator() -> None:
    with pytest.raises(RuntimeError, match="set_batch_generator"):
        list(DataLoader.from_generator())
    ragged = DataLoader.from_generator().set_sample_list_generator(lambda: [[(1, 2), (3,)]])
    with pytest.raises(ValueError, match="shorter"):
        list(ragged)
