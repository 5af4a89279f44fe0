"""Convolutions, pools and normalisations of ``paddle.nn.functional``: data formats, string and one-sided padding."""

import itertools
import math
from typing import Any

import ferrograd as fg
import numpy as np
import pytest
from ferrograd import paddle, torch
from ferrograd.paddle.nn import functional as F

LAST = {1: "NLC", 2: "NHWC", 3: "NDHWC"}


def normal(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=shape)


def same(got: Any, want: Any) -> None:
    np.testing.assert_allclose(np.asarray(got), np.asarray(want), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("axes", [1, 2, 3])
def test_channels_last(axes: int) -> None:
    x = normal(2, 4, *(6,) * axes)
    first, last = paddle.to_tensor(x), paddle.to_tensor(np.moveaxis(x, 1, -1))
    weight, across = paddle.to_tensor(normal(5, 4, *(3,) * axes)), paddle.to_tensor(normal(4, 5, *(3,) * axes))
    scale = paddle.to_tensor(normal(4))

    def norm(x: Any, **kw: Any) -> Any:
        return F.batch_norm(x, paddle.to_tensor(np.zeros(4)), paddle.to_tensor(np.ones(4)), scale, scale, True, **kw)

    calls = [
        lambda x, **kw: getattr(F, f"conv{axes}d")(x, weight, None, 2, 1, **kw),
        lambda x, **kw: getattr(F, f"conv{axes}d_transpose")(x, across, None, 2, 1, **kw),
        lambda x, **kw: F.instance_norm(x, weight=scale, bias=scale, **kw),
        norm,
    ]
    if axes > 1:
        calls += [
            lambda x, **kw: getattr(F, f"max_pool{axes}d")(x, 3, 2, 1, **kw),
            lambda x, **kw: getattr(F, f"avg_pool{axes}d")(x, 3, 2, 1, **kw),
            lambda x, **kw: getattr(F, f"adaptive_avg_pool{axes}d")(x, [4] * axes, **kw),
        ]
    for call in calls:
        same(call(last, data_format=LAST[axes]), np.moveaxis(np.asarray(call(first)), 1, -1))


@pytest.mark.parametrize("axes", [1, 2, 3])
def test_padding_on_one_side(axes: int) -> None:
    x, weight = normal(2, 4, *(6,) * axes), normal(5, 4, *(3,) * axes, seed=1)
    wide = np.pad(x, ((0, 0), (0, 0), *[(1, 2)] * axes))
    conv, core = getattr(F, f"conv{axes}d"), getattr(fg, f"conv{axes}d")
    for padding in ([1, 2] * axes, [[0, 0], [0, 0], *[[1, 2]] * axes]):
        same(conv(paddle.to_tensor(x), paddle.to_tensor(weight), padding=padding), core(wide, weight))
    y = conv(paddle.to_tensor(x), paddle.to_tensor(weight), stride=2, padding="SAME", dilation=3)
    same(y, core(np.pad(x, ((0, 0), (0, 0), *[(0, 1)] * axes)), weight, stride=2))
    mean = getattr(F, f"avg_pool{axes}d")(paddle.to_tensor(np.ones_like(x)), 3, 2, [1, 2] * axes)
    same(mean, np.ones(mean.shape))
    most = getattr(F, f"max_pool{axes}d")(paddle.to_tensor(-np.abs(x)), 3, 2, [1, 2] * axes)
    assert np.isfinite(np.asarray(most)).all()
    back = getattr(F, f"conv{axes}d_transpose")
    whole = np.asarray(back(paddle.to_tensor(x), paddle.to_tensor(np.moveaxis(weight, 0, 1))))
    cut = back(paddle.to_tensor(x), paddle.to_tensor(np.moveaxis(weight, 0, 1)), padding=[1, 2] * axes)
    inner = tuple([slice(None)] * 2 + [slice(1, -2)] * axes)
    same(cut, whole[inner])


def test_output_sizes_of_transposed_convolutions() -> None:
    x, weight = paddle.to_tensor(normal(1, 2, 5, 5)), paddle.to_tensor(normal(2, 3, 3, 3))
    assert F.conv2d_transpose(x, weight, None, 2, 1).shape == [1, 3, 9, 9]
    y = F.conv2d_transpose(x, weight, None, 2, 1, output_size=[10, 9])
    assert y.shape == [1, 3, 10, 9]
    same(y, fg.conv_transpose2d(x, weight, None, 2, 1, (1, 0)))


def test_indices_of_max_pools() -> None:
    x = paddle.to_tensor(normal(1, 2, 4, 4))
    for y, at in (F.max_pool2d(x, 2, return_mask=True), F.adaptive_max_pool2d(x, 2, return_mask=True)):
        assert at.dtype == "int32"
        same(
            np.take_along_axis(np.asarray(x).reshape(1, 2, -1), np.asarray(at).reshape(1, 2, -1), -1).ravel(),
            y.numpy().ravel(),
        )


def test_running_averages() -> None:
    x, mean, var = normal(4, 3, 5), paddle.to_tensor(np.zeros(3)), paddle.to_tensor(np.ones(3))
    F.batch_norm(paddle.to_tensor(x), mean, var, training=True, momentum=0.8, data_format="NCL")
    same(mean, 0.2 * x.mean((0, 2)))
    same(var, 0.8 + 0.2 * x.var((0, 2)))
    y = F.batch_norm(paddle.to_tensor(x), mean, var, training=True, data_format="NCL", use_global_stats=True)
    column = (3, 1)
    same(y, (x - np.asarray(mean).reshape(column)) / np.sqrt(np.asarray(var).reshape(column) + 1e-5))


def test_statistics_of_the_batch_outside_of_training() -> None:
    x = normal(4, 3, 5)
    layer = paddle.nn.BatchNorm1D(3, momentum=0.8, data_format="NCL", use_global_stats=False)
    layer.eval()
    y = layer(paddle.to_tensor(x.astype("float32")))
    np.testing.assert_allclose(y.numpy().mean((0, 2)), 0, atol=1e-6)
    np.testing.assert_allclose(layer._mean.numpy(), 0.2 * x.mean((0, 2)), rtol=1e-5)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_normalizations_keep_the_dtype_of_their_input(dtype: str) -> None:
    x, w = paddle.to_tensor(normal(3, 4, 2)).astype(dtype), paddle.ones([4])
    mean, var = paddle.zeros([4]), paddle.ones([4])
    found = [
        F.layer_norm(x.transpose([0, 2, 1]), 4, w, w),
        F.group_norm(x, 2, weight=w, bias=w),
        F.group_norm(x.transpose([0, 2, 1]), 2, weight=w, bias=w, data_format="NLC"),
        F.batch_norm(x, mean, var, w, w, training=True),
        F.batch_norm(x, mean, var, w, w),
        F.instance_norm(x, weight=w, bias=w),
    ]
    assert [y.dtype.name for y in found] == [dtype] * len(found)


def test_pdist_is_the_upper_triangle_of_cdist() -> None:
    x = paddle.to_tensor(np.random.default_rng(0).normal(size=(4, 3)), stop_gradient=False)
    for p in (0.0, 1.0, 1.5, 2.0, math.inf):
        made = F.pdist(x, p)
        np.testing.assert_allclose(made.numpy(), paddle.cdist(x, x, p).numpy()[np.triu_indices(4, 1)], rtol=1e-12)
    assert not F.pdist(x).stop_gradient


def test_windows() -> None:
    for name in ("bartlett", "blackman", "hamming", "hann", "kaiser"):
        function, other = getattr(paddle, f"{name}_window"), getattr(torch, f"{name}_window")
        for n, periodic in itertools.product((0, 1, 2, 7, 8), (True, False)):
            made = function(n, periodic)
            np.testing.assert_allclose(made.numpy(), other(n, periodic).numpy(), atol=1e-7)
            assert (made.dtype, made.stop_gradient) == (paddle.float32, True)
        made = function(3, dtype="float64", requires_grad=True)
        assert (made.dtype, made.stop_gradient) == (paddle.float64, False)
    wanted = torch.hamming_window(7, True, 0.4, 0.3).numpy()
    np.testing.assert_allclose(paddle.hamming_window(7, alpha=0.4, beta=0.3).numpy(), wanted, atol=1e-7)
    np.testing.assert_allclose(paddle.kaiser_window(7, beta=3.0).numpy(), torch.kaiser_window(7, beta=3.0).numpy())
    with pytest.raises(ValueError, match="hann_window: the length of the window is not negative, but -1"):
        paddle.hann_window(-1)
