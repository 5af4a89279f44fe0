"""Arguments that Paddle refuses are refused, and those that it takes are taken."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ferrograd.paddle as _paddle
import numpy as np
import pytest

paddle: Any = _paddle
F = paddle.nn.functional


def x(*shape: int) -> Any:
    return paddle.ones(list(shape))


CASES: list[tuple[str, Callable[[], Any], type[Exception]]] = [
    ("tensordot", lambda: paddle.tensordot(x(2, 2), x(2, 2), 3), IndexError),
    ("topk", lambda: paddle.topk(x(3), 0), ValueError),
    ("index_fill", lambda: paddle.index_fill(x(3), paddle.to_tensor([0]), 0, x(2)), ValueError),
    ("einsum", lambda: paddle.einsum("ijk"), AssertionError),
    ("quantile", lambda: paddle.quantile(x(3), []), ValueError),
    ("frame", lambda: paddle.signal.frame(x(8), 0, 1), ValueError),
    ("lstsq", lambda: paddle.linalg.lstsq(x(3, 2), x(3)), ValueError),
    ("triplet_margin_loss", lambda: F.triplet_margin_loss(x(2, 2), x(1, 2), x(1, 2)), ValueError),
    ("gaussian_nll_loss", lambda: F.gaussian_nll_loss(x(2).astype("int32"), x(2), x(2)), ValueError),
    ("LayerDict", lambda: paddle.nn.LayerDict().update(1), AssertionError),
    ("Beta", lambda: paddle.distribution.Beta(x(0), x(0)), ValueError),
    ("kl_divergence", lambda: paddle.distribution.Normal(0.0, 1.0).kl_divergence(paddle.distribution.Beta), TypeError),
    ("Geometric", lambda: paddle.distribution.Geometric([0.5]), TypeError),
    ("pmf", lambda: paddle.distribution.Geometric(0.5).pmf([1, 2]), TypeError),
    ("Cauchy.log_prob", lambda: paddle.distribution.Cauchy(0.0, 1.0).log_prob(0.5), TypeError),
    ("conv2d", lambda: F.conv2d(x(1, 1, 4, 4), x(1, 1, 1, 1), padding=[[0, 1], *[[0, 0]] * 3]), ValueError),
    ("max_pool2d", lambda: F.max_pool2d(x(1, 1, 4, 4), 2, padding=[[0, 0], [1, 0], *[[0, 0]] * 2]), ValueError),
    (
        "avg_pool2d",
        lambda: F.avg_pool2d(x(1, 4, 4, 1), 2, padding=[*[[0, 0]] * 3, [0, 1]], data_format="NHWC"),
        ValueError,
    ),
    ("diagonal_scatter", lambda: paddle.diagonal_scatter(x(2, 2), x(1)), AssertionError),
    ("cov", lambda: paddle.linalg.cov(x(2, 2), fweights=paddle.to_tensor([1, -1])), ValueError),
    ("cosine_embedding_loss", lambda: F.cosine_embedding_loss(x(2, 2), x(2, 2), x(2), margin=2), ValueError),
    ("class_center_sample", lambda: F.class_center_sample(x(0).astype("int64"), 3, 2), ValueError),
    ("LBFGS.minimize", lambda: paddle.optimizer.LBFGS(parameters=[x(1)]).minimize(x(1)), NotImplementedError),
    ("elu_", lambda: F.elu_(x(2), -0.2), AssertionError),
    ("transpose", lambda: paddle.transpose(paddle.to_tensor(1.0), [0]), ValueError),
    ("scatter", lambda: paddle.scatter(x(2, 2), paddle.to_tensor([0, 1]), x(2, 2, 1)), ValueError),
    ("masked_scatter", lambda: paddle.masked_scatter(x(2), x(2) > 0, x(2).astype("float64")), AssertionError),
    ("Adam", lambda: paddle.optimizer.Adam(paddle.to_tensor(0.1), parameters=[x(1)]), TypeError),
    ("resnet18", lambda: paddle.vision.models.resnet18(pretrained=True), ValueError),
    ("clip_grad_norm_", lambda: paddle.nn.utils.clip_grad_norm_(x(2), 1.0, float("-inf")), ValueError),
    ("addmm of a vector", lambda: paddle.addmm(x(2, 2), x(3), x(3, 2)), ValueError),
    ("addmm_ of a vector", lambda: paddle.addmm_(x(2, 2), x(3), x(3, 2)), ValueError),
    ("addmm of a number", lambda: paddle.addmm(paddle.to_tensor(1.0), x(2, 3), x(3, 2)), ValueError),
    ("stft", lambda: paddle.signal.stft(x(10), 11), AssertionError),
    ("Pad1D", lambda: paddle.nn.Pad1D([1, 1, 1, 1], mode="replicate")(x(1, 2, 3, 4)), AssertionError),
    ("pad", lambda: F.pad(x(1, 2, 3), [1, 1], data_format="NCHW"), AssertionError),
    ("format of conv1d", lambda: F.conv1d(x(1, 2, 3), x(2, 2, 1), data_format="NHWC"), ValueError),
    (
        "format of conv2d_transpose",
        lambda: F.conv2d_transpose(x(1, 2, 3, 3), x(2, 2, 1, 1), data_format="NLC"),
        ValueError,
    ),
    ("format of max_pool2d", lambda: F.max_pool2d(x(1, 2, 3, 3), 1, data_format="NCL"), ValueError),
    ("format of avg_pool3d", lambda: F.avg_pool3d(x(1, 2, 3, 3, 3), 1, data_format="NHWC"), ValueError),
    ("format of adaptive_avg_pool2d", lambda: F.adaptive_avg_pool2d(x(1, 2, 3, 3), 1, "NLC"), ValueError),
    ("format of pixel_shuffle", lambda: F.pixel_shuffle(x(1, 4, 3, 4), 2, "NLC"), ValueError),
    ("format of interpolate", lambda: F.interpolate(x(1, 2, 3, 3), [2, 2], data_format="NWC"), ValueError),
    ("format of dropout2d", lambda: F.dropout2d(x(1, 2, 3, 3), 0.0, data_format="abc"), ValueError),
    ("soft labels of classes", lambda: F.cross_entropy(x(2, 3), paddle.to_tensor([0, 1]), soft_label=True), ValueError),
    ("einsum of two arrows", lambda: paddle.einsum("i->j->k", x(2)), AssertionError),
    ("einsum of two formulas", lambda: paddle.einsum("i,j", x(2)), AssertionError),
    (
        "register_buffer",
        lambda: paddle.nn.Layer().register_buffer("b", paddle.create_parameter([1], "float32")),
        TypeError,
    ),
    ("LSTM", lambda: paddle.nn.LSTM(4, 4, proj_size=4), ValueError),
    ("LSTMCell", lambda: paddle.nn.LSTMCell(4, 4, proj_size=-1), ValueError),
    ("to_static", lambda: paddle.jit.to_static(x, build_strategy="x"), TypeError),
    ("IndependentTransform", lambda: paddle.distribution.IndependentTransform(0, 0), TypeError),
    ("add of an array", lambda: paddle.add(x(2), np.ones(2)), ValueError),
    ("sin of an array", lambda: paddle.sin(np.ones(2)), ValueError),
    ("linear of an array", lambda: paddle.nn.Linear(2, 2)(np.ones([1, 2], "float32")), ValueError),
    ("the method matmul of an array", lambda: x(2).matmul(np.ones(2)), ValueError),
    ("a tensor behind all arguments", lambda: paddle.logaddexp(x(2), x(2), x(2)), TypeError),
    ("a name that is a number", lambda: paddle.sin(x(2), 1), TypeError),
    ("two names", lambda: paddle.sin(x(2), "a", "b"), TypeError),
    ("ModelAverage", lambda: paddle.incubate.optimizer.ModelAverage(0.1), ValueError),
]


@pytest.mark.parametrize(("name", "call", "error"), CASES, ids=[case[0] for case in CASES])
def test_refused(name: str, call: Callable[[], Any], error: type[Exception]) -> None:
    with pytest.raises(error):
        call()


def test_neighbours_are_taken() -> None:
    assert paddle.tensordot(x(2, 2), x(2, 2), 2).item() == 4
    assert paddle.topk(x(3), 1)[0].tolist() == [1.0]
    assert paddle.index_fill(x(3), paddle.to_tensor([0]), 0, paddle.to_tensor(5.0)).tolist() == [5.0, 1.0, 1.0]
    at = [paddle.to_tensor([0, 2])]
    for indices in (at, tuple(at)):
        y = x(3)
        assert paddle.index_put(y, indices, x(2) * 3, True).tolist() == [4.0, 1.0, 4.0]
        assert y.index_put_(indices, x(2) * 3).tolist() == y.tolist() == [3.0, 1.0, 3.0]
    assert F.elu_(paddle.to_tensor([-1.0, 1.0]), 0.0).tolist() == [0.0, 1.0]
    assert paddle.transpose(paddle.to_tensor(1.0), []).item() == 1
    assert paddle.scatter(x(2, 2), paddle.to_tensor([[0], [1]]), x(2, 2) * 2).tolist() == [[2.0, 2.0]] * 2
    assert paddle.quantile(x(3), [0.5]).tolist() == [1.0]
    assert paddle.signal.stft(x(10), 10).shape == [6, 6]
    assert F.pad(x(1, 2, 3), [1, 1]).shape == [1, 2, 5]
    assert F.pad(x(1, 2, 3), [1, 1], data_format="NLC").shape == [1, 4, 3]
    assert paddle.addmm(x(1, 2), x(2, 3), x(3, 2), 2.0, 3.0).tolist() == [[11.0, 11.0]] * 2
    assert paddle.addmm_(x(2, 2), x=x(2, 3), y=x(3, 2), beta=2.0).tolist() == [[5.0, 5.0]] * 2
    for order in (0, 1, 2, float("inf"), "inf"):
        w = x(1)
        w.grad = paddle.to_tensor([3.0])
        assert paddle.nn.utils.clip_grad_norm_(w, 9.0, order).item() == (1.0 if order == 0 else 3.0)


def test_a_name_may_follow_all_arguments() -> None:
    y = paddle.to_tensor([4.0, 9.0])
    for named in (paddle.sqrt(y, "n"), paddle.sqrt(y, None), y.sqrt("n"), paddle.pow(y, 0.5, "n")):
        assert named.tolist() == [2.0, 3.0]
    assert y.reshape([2, 1], "n").shape == paddle.transpose(y.reshape([1, 2]), [1, 0], "n").shape == [2, 1]
    assert y.clone().sqrt_("n").tolist() == [2.0, 3.0]
    with pytest.raises(TypeError):
        paddle.sin(x=y, name="n", other=1)


def test_logical_functions_take_the_place_of_the_result() -> None:
    b, out = paddle.to_tensor([True, False]), paddle.zeros([2], "bool")
    assert paddle.logical_not(b, out) is out
    assert out.tolist() == [False, True]
    assert b.logical_or(b, out, "n") is out
    assert out.tolist() == [True, False]
    assert paddle.bitwise_xor(b, b, None, "n").tolist() == [False, False]


def test_operators_and_writes_take_arrays() -> None:
    y = x(2)
    assert (y * np.array([2.0, 3.0], "float32")).tolist() == [2.0, 3.0]
    y[:] = np.array([5.0, 6.0])
    assert y.tolist() == [5.0, 6.0]


def test_softmax_in_place_is_along_the_last_axis() -> None:
    y = paddle.to_tensor(np.random.default_rng(0).normal(size=(3, 2, 4)))
    wanted = F.softmax(y).numpy()
    for form in (F.softmax_, lambda z: z.softmax_()):
        z = y.clone()
        assert form(z) is z
        np.testing.assert_array_equal(z.numpy(), wanted)


def test_parameters_are_made_by_a_shape_and_a_dtype() -> None:
    made = paddle.base.framework.EagerParamBase([2, 2], "float64")
    assert (made.shape, made.dtype, made.stop_gradient) == ([2, 2], paddle.float64, False)
    assert made.persistable
    made = paddle.base.framework.EagerParamBase(
        shape=[3], dtype="float32", name="w", optimize_attr={"learning_rate": 0.5}, trainable=False
    )
    assert (made.name, made.optimize_attr["learning_rate"], made.stop_gradient) == ("w", 0.5, True)
    layer = paddle.nn.Layer()
    layer.register_buffer("buffer", x(2), persistable=False)
    layer.buffer = paddle.base.framework.EagerParamBase([2], "float32")
    assert list(layer.state_dict()) == ["buffer"]
    assert paddle.create_parameter([2], "bfloat16").dtype == paddle.bfloat16


def test_some_layers_keep_their_dtype() -> None:
    net = paddle.nn.Sequential(paddle.nn.Linear(2, 2), paddle.nn.BatchNorm1D(2))
    assert net.float16(excluded_layers=paddle.nn.BatchNorm1D) is net
    assert (net[0].weight.dtype, net[1].weight.dtype) == (paddle.float16, paddle.float32)
    assert net[1]._mean.dtype == paddle.float32
    net.bfloat16(excluded_layers=[paddle.nn.Linear])
    assert (net[0].weight.dtype, net[1].weight.dtype) == (paddle.float16, paddle.bfloat16)
    assert net.float().parameters()[0].dtype == paddle.float32
    with pytest.raises(TypeError, match="excluded_layers"):
        net.float16(excluded_layers=1)


def test_gradients_that_are_given_are_applied() -> None:
    a, b = (paddle.to_tensor([4.0], stop_gradient=False) for _ in range(2))
    optimizer = paddle.optimizer.SGD(0.25, parameters=[a, b])
    (a * b).backward()
    assert optimizer.apply_gradients([(a, paddle.to_tensor([8.0]))]) == []
    assert (a.item(), b.item()) == (2.0, 4.0)
    assert (a.grad.item(), b.grad.item()) == (4.0, 4.0)
    optimizer = paddle.optimizer.Momentum(0.25, parameters=[a])
    optimizer.step()
    assert optimizer.get_opti_var_name_list() == [f"{a.name}_velocity_0"]


def test_the_mean_of_the_last_steps() -> None:
    w = paddle.to_tensor([0.0], stop_gradient=False)
    average = paddle.incubate.optimizer.ModelAverage(1.0, parameters=[w], min_average_window=2, max_average_window=2)
    for value in (1.0, 3.0, 8.0):
        w.set_value(paddle.to_tensor([value]))
        average.step()
    with average.apply():
        # The sum that was closed after two steps, and the one that has begun since.
        assert w.item() == 4.0
    assert w.item() == 8.0
    with average.apply(need_restore=False):
        pass
    assert w.item() == 4.0
    average.restore()
    assert w.item() == 8.0


def test_networks_for_images() -> None:
    models = paddle.vision.models
    net = models.LeNet(num_classes=3)
    net(paddle.ones([2, 1, 28, 28])).sum().backward()
    assert all(p.grad is not None for p in net.parameters())
    net = models.ResNet(models.BasicBlock, 18, num_classes=5)
    assert net(paddle.ones([1, 3, 32, 32])).shape == [1, 5]
    assert list(net.state_dict())[:3] == ["conv1.weight", "bn1.weight", "bn1.bias"]
    assert models.ResNet(models.BottleneckBlock, 50, with_pool=False, num_classes=0).layer4[0].downsample is not None
    assert len(models._vgg_features(11, True)) == 29


def test_files_are_written_before_async_save_returns(tmp_path: Any) -> None:
    paddle.async_save({"w": x(2)}, str(tmp_path / "w.pdparams"))
    paddle.clear_async_save_task_queue()
    assert paddle.load(str(tmp_path / "w.pdparams"))["w"].tolist() == [1.0, 1.0]


def test_memory_of_no_elements_has_no_address() -> None:
    assert paddle.zeros([0, 4]).data_ptr() == 0
    assert paddle.zeros([1]).data_ptr() != 0


def test_private_ways_to_values() -> None:
    w = paddle.to_tensor([1.0, 2.0, 3.0], stop_gradient=False)
    w.value().get_tensor().set(np.array([4.0, 5.0, 6.0]), paddle.CPUPlace())
    assert w.tolist() == [4.0, 5.0, 6.0]
    assert w.is_leaf
    assert (w._numel(), w._is_initialized(), w._slice(1, 3).tolist()) == (3, True, [5.0, 6.0])
    assert w._to(dtype="float64").dtype == paddle.float64
    assert w._to() is w
    assert w._is_shared_buffer_with(w.detach())
    empty = paddle.Tensor(persistable=True)
    empty.set(np.ones([2, 3], np.float32), paddle.CPUPlace())
    assert (empty.shape, empty.persistable) == ([2, 3], True)
    assert not w._is_shared_buffer_with(w.clone())
