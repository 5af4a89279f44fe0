"""What the layers and functions of Paddle's dialect refuse."""

from __future__ import annotations

from typing import Any

import pytest
from ferrograd import paddle as _paddle

paddle: Any = _paddle
F = paddle.nn.functional


def test_lengths_are_those_of_the_sequences() -> None:
    x = paddle.ones([2, 3, 3])
    calls: list[Any] = [
        lambda: paddle.nn.LSTM(3, 4)(x, sequence_length=paddle.to_tensor([1])),
        lambda: paddle.nn.LSTM(3, 4)(x, sequence_length=paddle.to_tensor([4, 1])),
        lambda: paddle.nn.GRU(3, 4)(x, sequence_length=paddle.to_tensor([0, 0])),
        lambda: paddle.nn.RNN(paddle.nn.GRUCell(3, 4))(x, sequence_length=paddle.to_tensor([1])),
        lambda: paddle.nn.RNN(paddle.nn.GRUCell(3, 4))(x, sequence_length=paddle.to_tensor([[1], [1]])),
    ]
    for call in calls:
        with pytest.raises(ValueError, match="sequence_length"):
            call()


def test_numbers_out_of_range() -> None:
    x = paddle.ones([1, 4, 2, 2])
    calls: list[Any] = [
        lambda: F.dropout(x, axis=4),
        lambda: F.dropout(x, axis=-1),
        lambda: F.rrelu(x, 1.0, 0.0),
        lambda: F.rrelu(x, 0.0, 2.0),
        lambda: F.interpolate(x, size=[0, 1]),
        lambda: F.interpolate(x, scale_factor=0),
        lambda: F.pixel_shuffle(x, 0),
        lambda: F.pixel_shuffle(x, 3),
        lambda: F.pixel_unshuffle(x, 0),
    ]
    for call in calls:
        with pytest.raises(ValueError, match=r"axis value|lower|size|factor"):
            call()
