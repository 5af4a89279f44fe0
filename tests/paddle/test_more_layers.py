"""Layers and functions of Paddle that fewer programs use: graphs, weights with norms, input shapes."""

from __future__ import annotations

from typing import Any

import ferrograd as fg
import ferrograd.paddle as _paddle
import numpy as np
import pytest
from ferrograd import testing

paddle: Any = _paddle
RNG = np.random.default_rng(0)


def t(values: Any, dtype: str = "float64", tracked: bool = True) -> Any:
    return paddle.to_tensor(np.asarray(values, dtype), stop_gradient=not tracked or dtype[0] != "f")


def test_messages_along_edges() -> None:
    x, edges = RNG.standard_normal((4, 3)), RNG.standard_normal((4, 3))
    src, dst = [0, 1, 2, 0], [1, 2, 1, 0]
    places = t(src, "int32"), t(dst, "int32")
    parts = [[x[s] for s, d in zip(src, dst, strict=True) if d == row] for row in range(4)]
    for op, numpy_op in (("sum", np.sum), ("mean", np.mean), ("max", np.max), ("min", np.min)):
        found = paddle.geometric.send_u_recv(t(x), *places, op)
        np.testing.assert_allclose(found.numpy(), [numpy_op(p, 0) if p else np.zeros(3) for p in parts])
        assert paddle.geometric.send_u_recv(t(x), *places, op, out_size=3).shape == [3, 3]
    for op, combined in (("add", np.add), ("sub", np.subtract), ("mul", np.multiply), ("div", np.divide)):
        wanted = np.zeros((4, 3))
        np.add.at(wanted, dst, combined(x[src], edges))
        np.testing.assert_allclose(paddle.geometric.send_ue_recv(t(x), t(edges), *places, op).numpy(), wanted)
        np.testing.assert_allclose(
            paddle.geometric.send_uv(t(x), t(edges), *places, op).numpy(), combined(x[src], edges[dst])
        )
    rows = paddle.incubate.segment_max(t(x), t([0, 0, 2, 2], "int32"))
    np.testing.assert_allclose(rows.numpy(), [x[:2].max(0), np.zeros(3), x[2:].max(0)])
    assert paddle.geometric.segment_sum(t(x[:0]), t([], "int32")).shape == [0, 3]
    data = t(x)
    paddle.geometric.segment_mean(data, t([0, 0, 0, 1], "int32")).sum().backward()
    np.testing.assert_allclose(data.grad.numpy()[:, 0], [1 / 3, 1 / 3, 1 / 3, 1])
    with pytest.raises(ValueError, match="reduction"):
        paddle.geometric.send_u_recv(t(x), *places, "median")


@pytest.mark.parametrize("dim", [0, 1, None])
def test_weight_norm(dim: int | None) -> None:
    layer = paddle.nn.Linear(3, 2)
    before = layer.weight.numpy().copy()
    paddle.nn.utils.weight_norm(layer, dim=dim)
    names = {name: p.shape for name, p in layer.named_parameters()}
    assert names == {"bias": [2], "weight_v": [3, 2], "weight_g": [] if dim is None else [3, 2][dim : dim + 1]}
    layer(paddle.ones([1, 3])).sum().backward()
    assert layer.weight_g.grad is not None
    with pytest.raises(RuntimeError, match="two"):
        paddle.nn.utils.weight_norm(layer)
    paddle.nn.utils.remove_weight_norm(layer)
    np.testing.assert_allclose(layer.weight.numpy(), before, rtol=1e-5)
    with pytest.raises(ValueError, match="not found"):
        paddle.nn.utils.remove_weight_norm(layer)


def test_spectral_norm() -> None:
    layer = paddle.nn.utils.spectral_norm(paddle.nn.Linear(3, 2), n_power_iterations=20)
    layer(paddle.ones([1, 3]))
    assert np.linalg.norm(layer.weight.numpy(), 2) == pytest.approx(1, rel=1e-4)
    weight = paddle.rand([2, 3, 2])
    normed = paddle.nn.SpectralNorm([2, 3, 2], dim=1, power_iters=50)(weight)
    assert np.linalg.norm(normed.numpy().transpose(1, 0, 2).reshape(3, 4), 2) == pytest.approx(1, rel=1e-4)


def test_vectors_and_input_shapes() -> None:
    a, b = paddle.nn.Linear(3, 2), paddle.nn.Linear(3, 2)
    vector = paddle.nn.utils.parameters_to_vector(a.parameters())
    paddle.nn.utils.vector_to_parameters(vector, b.parameters())
    assert (a.weight == b.weight).all().item()
    with pytest.raises(ValueError, match="elements"):
        paddle.nn.utils.vector_to_parameters(vector[1:], b.parameters())
    spec = paddle.static.InputSpec([None, 3], "float32", "x")
    assert spec.shape == (-1, 3)
    assert spec.batch(4).shape == (4, -1, 3)
    assert spec.unbatch() == paddle.static.InputSpec([None, 3], "float32", "x")
    assert hash(spec) == hash(paddle.static.InputSpec([None, 3], "float32", "y"))
    assert spec.batch([4]).shape == (4, -1, 3)
    spec.unbatch()
    for wrong, error in (([1, 2], ValueError), ("4", TypeError)):
        with pytest.raises(error):
            spec.batch(wrong)
    for dtype in (float, "f8", np.float64, np.dtype("float64"), paddle.float64, "paddle.float64"):
        assert paddle.static.InputSpec([1], dtype).dtype == paddle.float64


def test_batch_norm_with_an_activation() -> None:
    x = t(RNG.standard_normal((5, 3)), "float32")
    layer = paddle.nn.BatchNorm(3, act="relu")
    plain = paddle.nn.BatchNorm1D(3)
    np.testing.assert_allclose(layer(x).numpy(), np.maximum(plain(x).numpy(), 0))
    assert not paddle.nn.BatchNorm(3, is_test=True).training
    assert repr(layer) == "BatchNorm()"
    u, s, v = paddle.linalg.svd_lowrank(x)
    np.testing.assert_allclose((u * s @ v.T).numpy(), x.numpy(), atol=1e-5)
    hidden = paddle.nn.HSigmoidLoss(3, 6)
    assert hidden(x, paddle.to_tensor([[0], [1], [2], [3], [5]])).shape == [5, 1]


def test_missing_modules_say_what_replaces_them() -> None:
    for name, way in (("dataset", "Dataset"), ("onnx", "save"), ("nothing", "no attribute")):
        with pytest.raises(AttributeError, match=way):
            getattr(paddle, name)


def test_fractional_pools() -> None:
    F = paddle.nn.functional
    x = t(RNG.standard_normal((2, 3, 5, 7)), "float64")
    y, places = F.fractional_max_pool2d(x, [5, 7], random_u=0.5, return_mask=True)
    np.testing.assert_array_equal(y, x)
    np.testing.assert_array_equal(places[0, 0], np.arange(35).reshape(5, 7))
    # Without a size of windows they cover everything: these are [0, 2), [2, 5) and [0, 3), [3, 7).
    y, places = F.fractional_max_pool2d(x, 2, random_u=0.25, return_mask=True)
    assert places.dtype == paddle.int32
    np.testing.assert_array_equal(y[:, :, 0, 0], x.numpy()[:, :, :2, :3].max((-1, -2)))
    np.testing.assert_array_equal(x.numpy().reshape(2, 3, 35)[1, 2][places.numpy()[1, 2]], y.numpy()[1, 2])
    x.stop_gradient = False
    testing.check(lambda x: F.fractional_max_pool2d(x, 3, 2, 0.3), (x,))
    assert paddle.nn.FractionalMaxPool3D(2, kernel_size=1)(paddle.rand([1, 2, 3, 4, 5])).shape == [1, 2, 2, 2, 2]
    assert paddle.nn.FractionalMaxPool2D([2, None])(x).shape == [2, 3, 2, 7]
    for size, u in ((9, None), (0, None), (2, 1.0)):
        with pytest.raises(fg.ArgumentError):
            F.fractional_max_pool2d(x, size, random_u=u)
    with pytest.raises(fg.ShapeError, match="5 axes"):
        F.fractional_max_pool3d(x, 2)


def test_adaptive_softmax_layer() -> None:
    layer = paddle.nn.AdaptiveLogSoftmaxWithLoss(8, 10, [2, 6], div_value=2.0, head_bias=True)
    assert [tuple(p.shape) for p in layer.parameters()] == [(8, 4), (4,), (8, 4), (4, 4), (8, 2), (2, 4)]
    x, labels = t(RNG.standard_normal((3, 8)), "float32"), paddle.to_tensor([0, 3, 9])
    output, loss = layer(x, labels)
    every = layer.log_prob(x)
    np.testing.assert_allclose(paddle.exp(every).sum(1).numpy(), np.ones(3), rtol=1e-5)
    np.testing.assert_allclose(output.numpy(), every.numpy()[range(3), [0, 3, 9]], rtol=1e-5)
    np.testing.assert_array_equal(layer.predict(x), every.numpy().argmax(1))
    loss.backward()
    assert all(p.grad is not None for p in layer.parameters())
    with pytest.raises(ValueError, match="increasing order"):
        paddle.nn.AdaptiveLogSoftmaxWithLoss(8, 10, [6, 2])


def test_batch_norm_with_trainable_statistics_evaluates_as_it_trains() -> None:
    x = paddle.to_tensor([[1.0, 2.0], [3.0, 6.0]])
    trained, evaluated = (paddle.nn.BatchNorm(2, is_test=test, trainable_statistics=test) for test in (False, True))
    assert evaluated.training is False
    assert trained(x).tolist() == evaluated(x).tolist()
    assert trained._mean.tolist() == evaluated._mean.tolist() != [0, 0]
    plain = paddle.nn.BatchNorm(2, is_test=True)
    assert plain(x).tolist() != trained(x).tolist()


def test_factors_of_interpolate_may_be_tensors() -> None:
    x, two = paddle.arange(4.0).reshape([1, 1, 2, 2]), paddle.to_tensor(2.0)
    for factors in (two, [two, two], paddle.to_tensor([2.0, 2.0])):
        found = paddle.nn.functional.interpolate(x, scale_factor=factors, mode="bilinear")
        assert found.tolist() == paddle.nn.functional.interpolate(x, scale_factor=2, mode="bilinear").tolist()


def test_functions_as_layers() -> None:
    Q, x, y = paddle.nn.quant, t([[1.0, 2.0], [3.0, 4.0]]), t([[5.0, 6.0], [7.0, 8.0]])
    for name in ("add", "subtract", "multiply", "divide", "matmul"):
        assert getattr(Q, name)()(x, y).tolist() == getattr(paddle, name)(x, y).tolist()
    assert Q.matmul()(x, y, transpose_y=True).tolist() == paddle.matmul(x, y, transpose_y=True).tolist()
    assert Q.reshape()(x, [4]).tolist() == Q.flatten()(x).tolist() == [1, 2, 3, 4]
    assert Q.transpose()(x, [1, 0]).tolist() == [[1, 3], [2, 4]]
    assert Q.concat()([x, y], axis=1).tolist() == [[1, 2, 5, 6], [3, 4, 7, 8]]
    assert isinstance(Q.add(), paddle.nn.Layer)
