"""What libraries on Paddle do with layers and ask of inner modules."""

from __future__ import annotations

import importlib
from collections import OrderedDict
from typing import Any

import ferrograd.paddle as _paddle
import numpy as np
import pytest

paddle: Any = _paddle
nn: Any = paddle.nn


def copied(layer: Any) -> Any:
    """A layer with copies of all parameters, in the graph of the parameters."""
    made: Any = object.__new__(type(layer))
    made.__dict__ = layer.__dict__.copy()
    made._parameters = OrderedDict((name, value.clone()) for name, value in layer._parameters.items())
    made._sub_layers = OrderedDict((name, copied(each)) for name, each in layer._sub_layers.items())
    return made


def test_learning_to_learn_goes_through_copies_of_layers() -> None:
    """One inner step on copies, then the gradient through that step, against the formula for a linear model."""
    net = nn.Sequential(nn.Linear(2, 1, bias_attr=False))
    w = np.array([[0.5], [-1.0]])
    net[0].weight.set_value(w.astype("float32"))
    rng = np.random.default_rng(0)
    (x, x2), (y, y2) = rng.normal(size=(2, 4, 2)), rng.normal(size=(2, 4, 1))
    rate = 0.1

    learner = copied(net)
    assert learner[0].weight is not net[0].weight
    x, x2, y, y2 = (v.astype("float32") for v in (x, x2, y, y2))
    loss = ((learner(paddle.to_tensor(x)) - paddle.to_tensor(y)) ** 2).mean()
    for layer in learner.sublayers():
        (g,) = paddle.grad(loss, layer.parameters(), create_graph=True)
        layer._parameters["weight"] = layer.weight - rate * g
    ((learner(paddle.to_tensor(x2)) - paddle.to_tensor(y2)) ** 2).mean().backward()

    stepped = w - rate * x.T @ (x @ w - y) / 2
    wanted = (np.eye(2) - rate * x.T @ x / 2) @ (x2.T @ (x2 @ stepped - y2) / 2)
    np.testing.assert_allclose(net[0].weight.grad.numpy(), wanted, rtol=1e-5)
    np.testing.assert_array_equal(net[0].weight.numpy(), w)


def test_tables_of_a_layer_are_assigned_under_paddles_names() -> None:
    layer, other = nn.Linear(1, 1), nn.Linear(2, 2)
    layer._sub_layers = {"inner": other}
    assert layer.sublayers() == [other]
    layer._forward_post_hooks = OrderedDict({0: lambda layer, inputs, output: output + 1})
    layer.weight.set_value(paddle.zeros([1, 1]))
    assert layer(paddle.ones([1, 1])).item() == 1
    layer._non_persistable_buffer_names_set = {"b"}
    layer.register_buffer("b", paddle.ones([1]), persistable=False)
    assert "b" not in layer.state_dict()
    assert list(layer.state_dict()) == ["weight", "bias", "inner.weight", "inner.bias"]


def test_the_default_dtype_is_asked_of_a_helper() -> None:
    layer = nn.Layer()
    assert layer.create_parameter([1], dtype=layer._helper.get_default_dtype()).dtype == paddle.float32
    layer._helper = "its own"
    assert layer._helper == "its own"


def test_a_guard_of_static_programs_changes_nothing() -> None:
    with paddle.static.amp.fp16_guard():
        assert paddle.ones([1]).dtype == paddle.float32
    with pytest.raises(NotImplementedError, match=r"use paddle\.amp"):
        paddle.static.amp.decorate(None)


def test_a_mask_as_numbers_to_add() -> None:
    convert = importlib.import_module("ferrograd.paddle.nn.layer.transformer")._convert_attention_mask
    assert convert(None, paddle.float32) is None
    x = paddle.ones([2])
    assert convert(x, paddle.float32) is x
    for mask in (paddle.to_tensor([True, False]), paddle.to_tensor([1, 0])):
        assert convert(mask, paddle.float32).tolist() == [0, np.float32(-1e9)]
    assert convert(x, paddle.float64).dtype == paddle.float64


def test_inner_modules_that_libraries_import() -> None:
    inner = importlib.import_module("ferrograd.paddle.common_ops_import")
    assert inner.convert_dtype(paddle.int64) == "int64"
    assert inner.in_dygraph_mode()
    with pytest.raises(NotImplementedError, match=r"paddle\.nn"):
        inner.LayerHelper("fc")
    download = importlib.import_module("ferrograd.paddle.utils.download")
    assert download.is_url("https://example.org/a")
    assert not download.is_url("folder/a")
    with pytest.raises(NotImplementedError, match="fetch the file yourself"):
        download.get_path_from_url("https://example.org/a", ".")
    assert not importlib.import_module("ferrograd.paddle.nn.layer.layers").in_declarative_mode()
    assert not paddle.base.dygraph.base.in_to_static_mode()


def test_rows_are_scattered_at_an_index_without_axes() -> None:
    x = paddle.to_tensor([[1.0, 2.0], [3.0, 4.0]], stop_gradient=False)
    row = paddle.to_tensor([5.0, 6.0], stop_gradient=False)
    for overwrite in (True, False):
        y = paddle.scatter(x, paddle.to_tensor(1), row, overwrite)
        assert y.tolist() == [[1.0, 2.0], [5.0, 6.0]]
    y.sum().backward()
    assert (x.grad.tolist(), row.grad.tolist()) == ([[1.0, 1.0], [0.0, 0.0]], [1.0, 1.0])
    assert paddle.scatter(x[0], paddle.to_tensor(0), paddle.to_tensor(9.0)).tolist() == [9.0, 2.0]
    with pytest.raises(ValueError, match="at an index without axes"):
        paddle.scatter(x, paddle.to_tensor(1), row.unsqueeze(0))


def test_gradients_and_memory_under_private_names() -> None:
    w = paddle.to_tensor([1.0, 2.0], stop_gradient=False)
    w._set_grad_ivar(paddle.to_tensor([3.0, 4.0]))
    assert w.grad.tolist() == w._grad_value().tolist() == [3.0, 4.0]
    paddle.optimizer.SGD(1.0, parameters=[w]).step()
    assert w.tolist() == [-2.0, -2.0]
    w._copy_gradient_from(paddle.to_tensor([5.0, 6.0]))
    assert w.grad.tolist() == [5.0, 6.0]

    copy = w._copy_to(paddle.CPUPlace(), True)
    assert (copy.tolist(), copy.is_leaf, copy.stop_gradient) == ([-2.0, -2.0], True, False)
    assert not copy._is_shared_buffer_with(w)
    assert copy._place_str == "Place(cpu)"

    x, other = paddle.to_tensor([1.0, 2.0]), paddle.zeros([3])
    x._share_buffer_to(other)
    assert other._is_shared_underline_tensor_with(x)
    other[0] = 7.0
    assert x.tolist() == [7.0, 2.0]
