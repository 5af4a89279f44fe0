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


SIZES: list[tuple[str, Any]] = [
    ("Linear: in_features", lambda n: paddle.nn.Linear(n, 2)),
    ("BatchNorm1D: num_features", lambda n: paddle.nn.BatchNorm1D(n)),
    ("InstanceNorm2D: num_features", lambda n: paddle.nn.InstanceNorm2D(n)),
    ("LayerNorm: normalized_shape", lambda n: paddle.nn.LayerNorm(n)),
    ("GroupNorm: num_channels", lambda n: paddle.nn.GroupNorm(1, n)),
    ("MultiHeadAttention: embed_dim", lambda n: paddle.nn.MultiHeadAttention(n, 2)),
    ("LSTM: input_size", lambda n: paddle.nn.LSTM(n, 2)),
    ("GRU: hidden_size", lambda n: paddle.nn.GRU(2, n)),
]


@pytest.mark.parametrize(("what", "layer"), SIZES, ids=lambda v: v if isinstance(v, str) else "")
def test_a_size_that_is_text_is_named(what: str, layer: Any) -> None:
    with pytest.raises(ValueError, match=f"^{what} is an integer, not '4'"):
        layer("4")


def test_inputs_of_a_recurrent_network_have_three_axes() -> None:
    with pytest.raises(ValueError, match=r"LSTM: the inputs are \[batch, time, size\], not \[5, 4\]"):
        paddle.nn.LSTM(4, 8)(paddle.ones([5, 4]))
    with pytest.raises(ValueError, match=r"GRU: the inputs are \[time, batch, size\]"):
        paddle.nn.GRU(4, 8, time_major=True)(paddle.ones([5, 4]))


def test_labels_given_first() -> None:
    labels, scores = paddle.to_tensor([0, 1]), paddle.ones([2, 3])
    for swapped in ((labels, scores), (labels.unsqueeze(1), scores)):
        with pytest.raises(TypeError, match="are the arguments swapped"):
            F.cross_entropy(*swapped)
