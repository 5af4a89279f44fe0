"""``paddle.incubate``, ``paddle.signal.frame``, and layers with the options that Paddle took over from PyTorch."""

from typing import Any

import ferrograd as fg
import numpy as np
import pytest
from ferrograd import paddle
from ferrograd.paddle import nn


def test_look_ahead_steps_as_paddle() -> None:
    layer = nn.Linear(3, 1)
    layer.weight.set_value(np.array([[0.1], [0.2], [0.3]], "float32"))
    inner = paddle.optimizer.SGD(0.1, parameters=layer.parameters())
    optimizer = paddle.incubate.LookAhead(inner, alpha=0.2, k=3)
    x = paddle.arange(6, dtype="float32").reshape([2, 3])
    for _ in range(8):
        ((layer(x) - 1) ** 2).mean().scale(0.1).backward()
        optimizer.step()
        optimizer.clear_grad()
    # Paddle 3.3's weights.
    np.testing.assert_allclose(layer.weight.numpy().ravel(), [0.00622172, 0.09218367, 0.17814566], rtol=1e-5)
    assert sorted(name.rpartition(".")[2] for name in optimizer.state_dict()) == ["b_0_slow_0", "w_0_slow_0"]


def test_look_ahead_refuses() -> None:
    inner = paddle.optimizer.SGD(0.1, parameters=nn.Linear(1, 1).parameters())
    wrong: list[dict[str, Any]] = [{"alpha": 1.5}, {"k": 0}, {"k": 1.5}]
    for options in wrong:
        with pytest.raises(fg.ArgumentError):
            paddle.incubate.LookAhead(inner, **options)
    with pytest.raises(fg.ArgumentError):
        paddle.incubate.LookAhead(None)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["segment_sum", "segment_mean", "segment_max", "segment_min"])
def test_segments_are_tensors_of_paddle(name: str) -> None:
    data = paddle.to_tensor([[1.0, 2.0], [3.0, 0.0], [4.0, 5.0]], stop_gradient=False)
    found = getattr(paddle.incubate, name)(data, paddle.to_tensor([0, 0, 1]))
    assert type(found) is paddle.Tensor
    found.sum().backward()
    assert data.grad is not None
    assert type(data.grad) is paddle.Tensor


def test_reshape_transform_gives_tensors_of_paddle() -> None:
    t = paddle.distribution.ReshapeTransform((2, 3), (3, 2))
    found = t.forward_log_det_jacobian(paddle.ones([4, 2, 3]))
    assert type(found) is paddle.Tensor
    assert found.tolist() == [0.0] * 4
    assert paddle.distribution.ReshapeTransform((), ()).forward_log_det_jacobian(paddle.ones([2])).shape == [2]


@pytest.mark.parametrize("shape", [(9,), (2, 9)])
@pytest.mark.parametrize("hop", [1, 2, 3])
def test_frames_overlap_to_the_signal(shape: tuple[int, ...], hop: int) -> None:
    x = paddle.to_tensor(np.arange(1.0, 1 + np.prod(shape)).reshape(shape), stop_gradient=False)
    pieces = paddle.signal.frame(x, 3, hop)
    count = (9 - 3) // hop + 1
    assert pieces.shape == [*shape[:-1], 3, count]
    for i in range(count):
        np.testing.assert_array_equal(pieces[..., i].numpy(), x.numpy()[..., i * hop : i * hop + 3])
    summed = paddle.signal.overlap_add(pieces, hop)
    times = np.zeros(3 + hop * (count - 1))
    for i in range(count):
        times[i * hop : i * hop + 3] += 1
    np.testing.assert_array_equal(summed.numpy(), x.numpy()[..., : len(times)] * times)
    summed.sum().backward()
    assert x.grad is not None
    np.testing.assert_array_equal(x.grad.numpy()[..., : len(times)], np.broadcast_to(times, [*shape[:-1], len(times)]))
    first = paddle.signal.frame(x.detach().moveaxis(-1, 0), 3, hop, axis=0)
    np.testing.assert_array_equal(first.numpy(), np.moveaxis(pieces.numpy(), [-1, -2], [0, 1]))
    again = paddle.signal.overlap_add(first, hop, axis=0)
    np.testing.assert_array_equal(again.numpy(), np.moveaxis(summed.numpy(), -1, 0))


def test_frames_refuse() -> None:
    with pytest.raises(fg.ArgumentError, match="the axis is 0 or -1"):
        paddle.signal.frame(paddle.ones([2, 2]), 1, 1, axis=1)
    with pytest.raises(fg.ArgumentError, match="not positive"):
        paddle.signal.overlap_add(paddle.ones([2, 2]), 0)
    with pytest.raises(fg.ShapeError):
        paddle.signal.frame(paddle.ones([2]), 3, 1)


def test_options_from_pytorch() -> None:
    assert nn.Conv2D(1, 2, 3, bias=False, dtype="float64").bias is None
    assert nn.Conv1d(1, 2, 3, dtype="float64").weight.dtype == "float64"
    assert nn.LayerNorm(3, bias=False).bias is None
    plain = nn.LayerNorm(3, elementwise_affine=False)
    assert plain.weight is plain.bias is None
    assert nn.GroupNorm(1, 2, affine=False).weight is None
    assert nn.GroupNorm(1, 2, dtype="float64").bias.dtype == "float64"
    table = np.arange(6.0).reshape(3, 2)
    frozen = nn.Embedding(3, 2, _weight=paddle.to_tensor(table), _freeze=True, dtype="float64")
    np.testing.assert_array_equal(frozen.weight.numpy(), table)
    assert frozen.weight.stop_gradient
    with pytest.raises(AssertionError, match="Shape of weight"):
        nn.Embedding(3, 2, _weight=paddle.ones([2, 2]))
    with pytest.raises(fg.ArgumentError, match="the only device"):
        nn.Conv2D(1, 1, 1, device="gpu")


def test_names() -> None:
    assert nn.Module is nn.Layer
    assert nn.Conv3d is nn.Conv3D
    assert paddle.tensor.matmul is paddle.matmul
    assert paddle.get_default_dtype() == "float32"
    assert paddle.ones([1]).float64().dtype == paddle.float64
    assert paddle.ones([1]).new_zeros(2, 3).shape == paddle.ones([1]).new_zeros([2, 3]).shape == [2, 3]
    assert "shape=(-1, 2), dtype=paddle.float32" in repr(paddle.static.InputSpec([None, 2], "float32"))
    assert float(paddle.zeros([1000]).uniform_().min()) >= 0
    layers = nn.LayerList([nn.ReLU()])
    layers.insert(0, nn.Tanh())
    assert [type(layer) for layer in layers] == [nn.Tanh, nn.ReLU]


def test_what_paddles_own_tests_ask_for() -> None:
    inner = paddle.distribution.PowerTransform(paddle.to_tensor(2.0))
    t = paddle.distribution.IndependentTransform(inner, 1)
    assert t.forward_log_det_jacobian(paddle.to_tensor([1.0, 2.0])).item() == pytest.approx(2.07944155)
    count = paddle.to_tensor([1], dtype="int32")
    assert paddle.increment(count).tolist() == count.tolist() == [2]
    assert count.dtype == paddle.int32
    assert paddle.assign(42).shape == [1]
    assert paddle.ones([1]).place._equals(paddle.CPUPlace())
    assert isinstance(paddle.ones([1]), paddle.static.Variable)
    assert paddle.paddle is paddle


def test_older_names_of_functions_and_modules() -> None:
    x, src, dst = paddle.to_tensor([[1.0], [2.0]]), paddle.to_tensor([0, 1, 1]), paddle.to_tensor([1, 1, 0])
    assert paddle.incubate.graph_send_recv(x, src, dst, pool_type="mean").tolist() == [[2.0], [1.5]]
    assert paddle.nn.loss.MSELoss is paddle.nn.MSELoss
    assert paddle.Size([2, 3]) == paddle.ones([2, 3]).shape
    assert (paddle.get_device(), paddle.get_device(x)) == ("cpu", -1)


def test_graphs_are_numbered_again_and_sampled() -> None:
    G: Any = paddle.geometric
    as_ints = paddle.to_tensor
    x, first, second = as_ints([0, 1, 2]), as_ints([8, 9, 0, 4, 7, 6, 7]), as_ints([0, 2, 3, 5, 1])
    n, m = as_ints([2, 3, 2], "int32"), as_ints([1, 3, 1], "int32")
    assert [v.tolist() for v in G.reindex_graph(x, first, n)] == [
        [3, 4, 0, 5, 6, 7, 6],
        [0, 0, 1, 1, 1, 2, 2],
        [0, 1, 2, 8, 9, 4, 7, 6],
    ]
    assert [v.tolist() for v in G.reindex_heter_graph(x, [first, second], [n, m])] == [
        [3, 4, 0, 5, 6, 7, 6, 0, 2, 8, 9, 1],
        [0, 0, 1, 1, 1, 2, 2, 0, 1, 1, 1, 2],
        [0, 1, 2, 8, 9, 4, 7, 6, 3, 5],
    ]
    empty = G.reindex_graph(x, as_ints([], "int64"), as_ints([0, 0, 0]))
    assert [v.tolist() for v in empty] == [[], [], [0, 1, 2]]
    with pytest.raises(ValueError, match="a number of neighbors for each of 3 nodes"):
        G.reindex_graph(x, first, m)
    with pytest.raises(ValueError, match="a node twice"):
        G.reindex_graph(as_ints([1, 1]), first, as_ints([3, 4]))

    row = as_ints([3, 7, 0, 9, 1, 4, 2, 9, 3, 9, 1, 9, 7])
    colptr, nodes = as_ints([0, 2, 4, 5, 6, 7, 9, 11, 11, 13, 13]), as_ints([0, 8, 1, 2, 9])
    ids = as_ints(list(range(13)))
    for size in (-1, 2, 5):
        found = G.sample_neighbors(row, colptr, nodes, size, ids, return_eids=True)
        assert [v.tolist() for v in found] == [[3, 7, 9, 7, 0, 9, 1], [2, 2, 2, 1, 0], [0, 1, 11, 12, 2, 3, 4]]
        assert [v.dtype for v in found] == [paddle.int64, paddle.int32, paddle.int64]
    paddle.seed(0)
    seen = {tuple(G.sample_neighbors(row, colptr, as_ints([0, 2]), 1)[0].tolist()) for _ in range(40)}
    assert seen == {(3, 1), (7, 1)}
    weights = paddle.to_tensor([0.0, 1.0, *[1.0] * 11])
    for _ in range(10):
        neighbors, count = G.weighted_sample_neighbors(row, colptr, weights, as_ints([0, 1]), 1)
        assert neighbors[0].item() == 7
        assert count.tolist() == [1, 1]
    heavy = paddle.to_tensor([3.0, 1.0, *[1.0] * 11])
    drawn = [G.weighted_sample_neighbors(row, colptr, heavy, as_ints([0]), 1)[0].item() for _ in range(400)]
    assert 260 <= drawn.count(3) <= 340
    for wrong in ([10], [-1]):
        with pytest.raises(ValueError, match="numbers below 10"):
            G.sample_neighbors(row, colptr, as_ints(wrong))
    with pytest.raises(ValueError, match="rising bounds"):
        G.sample_neighbors(row, as_ints([0, 20]), as_ints([0]))
    with pytest.raises(ValueError, match="needs eids"):
        G.sample_neighbors(row, colptr, nodes, return_eids=True)
    with pytest.raises(ValueError, match="at least 0 for each of 13 edges"):
        G.weighted_sample_neighbors(row, colptr, -weights, nodes, 1)
    with pytest.raises(ValueError, match="row is a vector of integers"):
        G.sample_neighbors(weights, colptr, nodes)


def test_functions_that_stand_for_several() -> None:
    fused = paddle.incubate.nn.functional
    x, y, bias = (
        paddle.to_tensor(v, dtype="float64", stop_gradient=False)
        for v in ([[1.0, -2.0]], [[0.5, 2.0], [3.0, -1.0]], [0.1, 0.2])
    )
    scores = x @ y + bias
    assert fused.fused_linear(x, y, bias).tolist() == scores.tolist()
    assert fused.fused_linear(x, y.T, bias, transpose_weight=True).tolist() == scores.tolist()
    assert fused.fused_matmul_bias(x.T, y, transpose_x=True).tolist() == (x @ y).tolist()
    act = fused.fused_linear_activation
    assert act(x, y, bias, activation="none").tolist() == scores.tolist()
    assert act(x, y, bias, activation="relu").tolist() == paddle.nn.functional.relu(scores).tolist()
    assert act(x, y, bias, activation="gelu").tolist() == paddle.nn.functional.gelu(scores, True).tolist()
    with pytest.raises(fg.ArgumentError, match="activation is 'gelu'"):
        act(x, y, bias, activation="tanh")
    assert fused.fused_dropout_add(x, y, 0.5, training=False).tolist() == (x + y).tolist()
    assert fused.fused_dropout_add(x, y, 1.0).tolist() == y.tolist()
    fg.testing.check(lambda x, y, bias: act(x, y, bias, activation="gelu"), (x, y, bias))
