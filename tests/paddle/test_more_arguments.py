"""Arguments of Paddle's functions: shapes, dtypes and formats that they take, and what they give for them."""

from __future__ import annotations

import importlib
from typing import Any

import ferrograd.paddle
import numpy as np
import pytest
from ferrograd import ArgumentError
from ferrograd.paddle.base.dygraph.base import switch_to_static_graph
from ferrograd.paddle.base.framework import dygraph_not_support

# The type checker knows the core's functions, whose arguments are others.
paddle: Any = ferrograd.paddle
t: Any = paddle.to_tensor


def test_operators_of_shifts_take_the_kind_of_shift() -> None:
    x, y = t([-8, 5], "int8"), t([1, 1], "int8")
    assert x.__lshift__(y, False).tolist() == (x << y).tolist() == [-16, 10]
    assert x.__rshift__(y).tolist() == (x >> y).tolist() == [-4, 2]
    assert x.__rshift__(y, False).tolist() == [124, 2]
    with pytest.raises(TypeError):
        x << "1"


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int64", "bool"])
def test_copysign_of_integers_keeps_their_dtype(dtype: str) -> None:
    x = t([1, 0], dtype)
    assert paddle.copysign(x, x).dtype == x.copysign(x).dtype == x.dtype
    assert paddle.copysign(x, t([-1.0, 1.0])).dtype == paddle.float32
    assert paddle.copysign(t([1, 2]), -1).tolist() == [-1, -2]
    large = t([2**62 + 1, -(2**62) - 1])
    assert paddle.copysign(large, t([[-1], [1]])).tolist() == [[-(2**62) - 1] * 2, [2**62 + 1] * 2]
    assert paddle.copysign(large, -0.0).tolist() == [-(2**62) - 1] * 2


def test_masked_fill_with_a_value_for_each_element() -> None:
    x, mask = paddle.zeros([2, 2]), t([[True, False], [True, True]])
    x.stop_gradient = False
    value = t([3.0, 4.0], stop_gradient=False)
    y = paddle.masked_fill(x, mask, value)
    assert y.tolist() == [[3, 0], [3, 4]]
    y.sum().backward()
    assert (x.grad.tolist(), value.grad.tolist()) == ([[0, 1], [0, 0]], [2, 1])
    assert paddle.zeros([2]).masked_fill(t([True, False]), t([5])).tolist() == [5, 0]
    assert paddle.zeros([2]).masked_fill_(t([True, False]), 7.0).tolist() == [7, 0]


def test_logspace_has_the_dtype_that_is_asked_for() -> None:
    whole = paddle.logspace(-10, 10, 5, 2, dtype="int32")
    assert (whole.dtype, whole.tolist()) == (paddle.int32, [0, 0, 1, 32, 1024])
    assert paddle.logspace(0.5, 2, 3, dtype="int64").tolist() == [1, 10, 100]
    assert paddle.logspace(0, 2, 3, t(3.0)).tolist() == [1, 3, 9]
    exact = paddle.logspace(0, 10, 5, 2, dtype="float64")
    np.testing.assert_array_equal(exact.numpy(), np.logspace(0, 10, 5, base=2))


def test_formats_that_are_none_are_refused() -> None:
    x = paddle.ones([1, 4, 2, 2])
    F = paddle.nn.functional
    for f, argument in ((F.pixel_shuffle, 2), (F.pixel_unshuffle, 2), (F.channel_shuffle, 2), (F.max_pool2d, 2)):
        with pytest.raises(ArgumentError, match="data_format is one like 'NCHW' or 'NHWC', not 'WOW'"):
            f(x, argument, data_format="WOW")


def test_a_seed_gives_the_generator() -> None:
    generator = paddle.seed(7)
    state, first = generator.get_state(), paddle.rand([3])
    second = paddle.rand([3])
    generator.set_state(state)
    assert paddle.rand([3]).tolist() == first.tolist() != second.tolist()
    assert generator.manual_seed(7) is generator
    assert paddle.rand([3]).tolist() == first.tolist()


def test_older_names_of_functions_of_graphs() -> None:
    found = paddle.incubate.graph_reindex(*(t(v) for v in ([7, 2], [2, 9, 7], [2, 1])))
    assert [v.tolist() for v in found] == [[1, 2, 0], [0, 0, 1], [7, 2, 9]]
    found = paddle.incubate.graph_sample_neighbors(t([1, 2, 0]), t([0, 2, 3]), t([1, 0]))
    assert [v.tolist() for v in found] == [[0, 1, 2], [1, 2]]


def test_counts_of_several_kinds_of_edges_follow_each_other() -> None:
    x, neighbors, count = (t(v) for v in ([7, 2], [2, 9, 7, 8, 2], [2, 1, 0, 2]))
    found = paddle.geometric.reindex_graph(x, neighbors, count)
    assert [v.tolist() for v in found] == [[1, 2, 0, 3, 1], [0, 0, 1, 1, 1], [7, 2, 9, 8]]
    with pytest.raises(ArgumentError, match="a number of neighbors for each of 2 nodes"):
        paddle.geometric.reindex_graph(x, neighbors, t([2, 1, 2]))


def test_messages_with_edges_of_fewer_axes() -> None:
    x, y = paddle.arange(6.0).reshape([2, 3, 1]), t([[1.0], [2.0]])
    found = paddle.geometric.send_ue_recv(x, y, t([0, 1]), t([1, 0]), "add", "sum")
    assert found[:, :, 0].tolist() == [[5, 6, 7], [1, 2, 3]]


def test_a_list_of_tensors_as_one() -> None:
    join = paddle.tensor.manipulation.tensor_array_to_tensor
    joined, sizes = join([paddle.ones([1, 2]), paddle.zeros([1, 1])])
    assert (joined.tolist(), sizes.tolist(), sizes.dtype) == ([[1, 1, 0]], [2, 1], paddle.int32)
    stacked, sizes = join([paddle.ones([2]), paddle.zeros([2])], axis=0, use_stack=True)
    assert (stacked.tolist(), sizes.tolist()) == ([[1, 1], [0, 0]], [1, 1])
    with pytest.raises(IndexError, match="axis 1"):
        join([paddle.ones([2])])


def test_boxes_of_images_as_layers() -> None:
    x, box, one = paddle.arange(16.0).reshape([1, 1, 4, 4]), t([[0.0, 0, 3, 3]]), t([1], "int32")
    ops = paddle.vision.ops
    assert ops.RoIAlign(2, 1.0)(x, box, one).tolist() == ops.roi_align(x, box, one, 2).tolist()
    assert ops.RoIPool(2)(x, box, one).tolist() == ops.roi_pool(x, box, one, 2).tolist() == [[[[5, 7], [13, 15]]]]


@pytest.mark.parametrize(("dtype", "resolution"), [("float16", 1e-3), ("float32", 1e-6), ("float64", 1e-15)])
def test_the_resolution_of_a_dtype_is_a_power_of_ten(dtype: str, resolution: float) -> None:
    assert paddle.finfo(getattr(paddle, dtype)).resolution == resolution
    torch = importlib.import_module("ferrograd.torch")
    assert torch.finfo(getattr(torch, dtype)).resolution == resolution


def test_functions_for_static_programs_raise_where_they_are_called() -> None:
    @switch_to_static_graph
    def program() -> None:
        raise RuntimeError

    @dygraph_not_support
    def other() -> None:
        raise RuntimeError

    with pytest.raises(NotImplementedError, match="program: this library has the dynamic graph only"):
        program()
    with pytest.raises(AssertionError, match="other: the dynamic graph"):
        other()


def test_switches_and_facts_that_change_nothing() -> None:
    paddle.incubate.autotune.set_config({"kernel": {"enable": True}})
    with pytest.raises(ArgumentError, match="config is a dict or the name of a file, not int"):
        paddle.incubate.autotune.set_config(1)
    assert paddle.version.rc == "0"
    assert paddle.hapi.model.to_list(None) == []
    assert paddle.hapi.model.to_list((1, 2)) == [1, 2]


def test_gradients_are_not_clipped_to_less_than_nothing() -> None:
    x = t([1.0], stop_gradient=False)
    (3 * x).backward()
    with pytest.raises(ValueError, match="clip_value must not be negative, but is -1"):
        paddle.nn.utils.clip_grad_value_([x], -1)
    paddle.nn.utils.clip_grad_value_([x], 2.0)
    assert x.grad.tolist() == [2]


def test_normal_numbers_are_complex_in_a_complex_tensor() -> None:
    paddle.seed(0)
    x = paddle.zeros([4000], "complex64")
    assert x.normal_(1 + 1j, 2.0) is x
    for part in (x.real(), x.imag()):
        assert abs(part.mean().item() - 1) < 0.1
        assert abs(part.std().item() - 2**0.5) < 0.1
    assert x.dtype == paddle.complex64
