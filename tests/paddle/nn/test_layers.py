"""``paddle.nn``: layers, their parameters and states, initializers, recurrent networks and transformers."""

from __future__ import annotations

import copy
import math
import pickle
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from ferrograd import paddle as _paddle

paddle: Any = _paddle
nn: Any = paddle.nn
F: Any = nn.functional

Array = np.ndarray[Any, Any]


def normal(*shape: int, seed: int = 0) -> Array:
    return np.random.default_rng(seed).normal(size=shape).astype("float32")


class Net(nn.Layer):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(2, 3)
        self.rest = nn.Sequential(nn.ReLU(), nn.Linear(3, 1, bias_attr=False))
        self.scale = self.create_parameter([1], default_initializer=nn.initializer.Constant(2.0))
        self.register_buffer("seen", paddle.zeros([1]))
        self.cache = paddle.ones([2])

    def forward(self, x: Any) -> Any:
        return self.rest(self.first(x)) * self.scale


def test_each_layer_takes_one_number() -> None:
    for make in (nn.ReLU, lambda: nn.Linear(1, 1), lambda: nn.MaxPool2D(2)):
        first, second = (int(make().full_name().rsplit("_", 1)[1]) for _ in range(2))
        assert second == first + 1


def test_names_follow_the_tree() -> None:
    net = Net()
    assert [n for n, _ in net.named_parameters()] == ["scale", "first.weight", "first.bias", "rest.1.weight"]
    assert list(net.state_dict()) == ["scale", "seen", "first.weight", "first.bias", "rest.1.weight"]
    assert [n for n, _ in net.named_sublayers()] == ["first", "rest", "rest.0", "rest.1"]
    assert len(net.sublayers(include_self=True)) == 5
    assert [n for n, _ in net.named_buffers()] == ["seen", "cache"]
    assert isinstance(net.parameters(), list)
    assert isinstance(net.scale, paddle.base.framework.EagerParamBase)
    assert isinstance(net.scale, nn.Parameter)
    assert not isinstance(net.cache, nn.Parameter)
    name = net.first.full_name()
    assert name.startswith("linear_")
    assert net.first.weight.name == f"{name}.w_0"
    assert net.first.bias.name == f"{name}.b_0"


def test_states_are_loaded_by_name() -> None:
    net, other = Net(), Net()
    state = {k: v.numpy() for k, v in other.state_dict().items()}
    assert net.set_state_dict(state) == ([], [])
    np.testing.assert_array_equal(net.first.weight.numpy(), other.first.weight.numpy())
    state["extra"] = np.ones(1)
    state["scale"] = np.ones(3)
    with pytest.warns(UserWarning, match=r"Skip loading for scale. scale receives a shape \[3\]"):
        assert net.set_state_dict(state) == (["scale"], ["scale", "extra"])
    by_name = {p.name: p.numpy() for p in net.parameters()}
    assert net.first.set_state_dict({k: v for k, v in by_name.items() if "linear" in k}, False)[0] == []
    assert net.state_dict()["scale"] is net.scale
    assert net.state_dict(keep_vars=False)["scale"].stop_gradient
    handle = net.register_state_dict_hook(lambda state: {"only": 1})
    assert net.state_dict() == {"only": 1}
    handle.remove()
    assert "scale" in net.state_dict()


def test_hooks_modes_and_gradients() -> None:
    net, log = Net(), []
    before = net.register_forward_pre_hook(lambda layer, inputs: (inputs[0] * 0,))
    net.register_forward_post_hook(lambda layer, inputs, output: log.append(output.shape))
    out = net(paddle.ones([4, 2]))
    out.sum().backward()
    assert log == [[4, 1]]
    assert net.first.weight.grad.abs().sum().item() == 0
    before.remove()
    net.clear_gradients()
    assert net.scale.grad.sum().item() == 0
    assert not any(layer.training for layer in net.eval().sublayers(True))
    assert net.train().training
    seen: list[str] = []
    net.apply(lambda layer: seen.append(type(layer).__name__))
    assert seen == ["Linear", "ReLU", "Linear", "Sequential", "Net"]
    weight = net.first.weight
    assert net.to(dtype="float64").first.weight is weight
    assert weight.dtype == "float64"
    assert not weight.stop_gradient


def test_attributes_of_parameters() -> None:
    attr = paddle.ParamAttr(
        name="my_weight", initializer=nn.initializer.Constant(3.0), trainable=False, learning_rate=0.5
    )
    layer = nn.Linear(2, 2, weight_attr=attr, bias_attr=nn.initializer.Assign([1.0, 2.0]))
    assert layer.weight.name == "my_weight"
    assert layer.weight.stop_gradient
    assert layer.weight.optimize_attr == {"learning_rate": 0.5}
    assert layer.weight.tolist() == [[3.0, 3.0], [3.0, 3.0]]
    assert layer.bias.tolist() == [1.0, 2.0]
    assert nn.Linear(2, 2, bias_attr=False).bias is None
    assert nn.Linear(2, 2, "named").weight.name == "named"
    made = paddle.create_parameter([2, 3], "float64")
    assert (made.shape, made.dtype, made.stop_gradient) == ([2, 3], "float64", False)
    shared = nn.Parameter(paddle.ones([2]))
    assert isinstance(shared, nn.Parameter)
    paddle.set_global_initializer(nn.initializer.Constant(7.0), nn.initializer.Constant(8.0))
    try:
        layer = nn.Linear(1, 1)
    finally:
        paddle.set_global_initializer(None)
    assert (layer.weight.item(), layer.bias.item()) == (7.0, 8.0)
    assert nn.Linear(1, 1).bias.item() == 0.0


DRAWS: list[tuple[Any, float, float]] = [
    (nn.initializer.Normal(1.0, 2.0), 1.0, 2.0),
    (nn.initializer.Uniform(-3.0, 1.0), -1.0, 4 / math.sqrt(12)),
    (nn.initializer.TruncatedNormal(1.0, 2.0), 1.0, 2 * 0.8796),
    (nn.initializer.XavierNormal(), 0.0, math.sqrt(2 / 300)),
    (nn.initializer.XavierUniform(gain=2.0), 0.0, 2 * math.sqrt(2 / 300)),
    (nn.initializer.KaimingNormal(), 0.0, math.sqrt(2 / 200)),
    (nn.initializer.KaimingNormal(mode="fan_out"), 0.0, math.sqrt(2 / 100)),
    (nn.initializer.KaimingUniform(nonlinearity="tanh"), 0.0, 5 / 3 / math.sqrt(200)),
    (nn.initializer.Orthogonal(), 0.0, math.sqrt(1 / 200)),
]


@pytest.mark.parametrize(("initializer", "mean", "std"), DRAWS, ids=[type(row[0]).__name__ for row in DRAWS])
def test_initializers(initializer: Any, mean: float, std: float) -> None:
    paddle.seed(0)
    values = paddle.create_parameter([200, 100], "float64", default_initializer=initializer).numpy()
    assert abs(values.mean() - mean) < 0.05 * std
    assert values.std() == pytest.approx(std, rel=0.03)


def test_special_initializers() -> None:
    filters = paddle.create_parameter([2, 2, 3], default_initializer=nn.initializer.Dirac())
    x = paddle.to_tensor(normal(1, 2, 5))
    assert F.conv1d(x, filters, padding=1).tolist() == x.tolist()
    bilinear = paddle.create_parameter([1, 1, 4, 4], default_initializer=nn.initializer.Bilinear()).numpy()[0, 0]
    np.testing.assert_allclose(bilinear[1], np.array([0.25, 0.75, 0.75, 0.25]) * 0.75)
    assert nn.initializer.calculate_gain("tanh") == pytest.approx(5 / 3)


def sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


def standard(x: Array, axis: Any) -> Array:
    return (x - x.mean(axis, keepdims=True)) / np.sqrt(x.var(axis, keepdims=True) + 1e-5)


X = normal(2, 4, 6)
LAYERS: list[tuple[Any, str, Callable[[Array], Array]]] = [
    (nn.ReLU(), "ReLU()", lambda x: np.maximum(x, 0)),
    (nn.LeakyReLU(0.2), "LeakyReLU(negative_slope=0.2)", lambda x: np.where(x > 0, x, 0.2 * x)),
    (nn.Hardtanh(-0.5, 0.5), "Hardtanh(min=-0.5, max=0.5)", lambda x: np.clip(x, -0.5, 0.5)),
    (nn.Sigmoid(), "Sigmoid()", sigmoid),
    (nn.Silu(), "Silu(inplace=False)", lambda x: x * sigmoid(x)),
    (nn.Softplus(), "Softplus(beta=1, threshold=20)", lambda x: np.log1p(np.exp(x))),
    (nn.Softmax(1), "Softmax(axis=1)", lambda x: np.exp(x) / np.exp(x).sum(1, keepdims=True)),
    (nn.Maxout(2), "Maxout(groups=2, axis=1)", lambda x: x.reshape(2, 2, 2, 6).max(2)),
    (nn.GLU(1), "GLU(axis=1)", lambda x: x[:, :2] * sigmoid(x[:, 2:])),
    (
        nn.PReLU(4, 0.5),
        "PReLU(num_parameters=4, data_format=NCHW, init=0.5, dtype=float32)",
        lambda x: np.where(x > 0, x, x / 2),
    ),
    (nn.Flatten(), "Flatten()", lambda x: x.reshape(2, 24)),
    (nn.Unflatten(1, [2, 2]), "Unflatten(axis=1, shape=[2, 2])", lambda x: x.reshape(2, 2, 2, 6)),
    (
        nn.Dropout(0.5).eval(),
        "Dropout(p=0.5, axis=None, mode=upscale_in_train, inplace=False)",
        lambda x: x,
    ),
    (
        nn.Pad1D([1, 2]),
        "Pad1D(padding=[1, 2], mode=constant, value=0.0, data_format=NCL)",
        lambda x: np.pad(x, [(0, 0), (0, 0), (1, 2)]),
    ),
    (nn.MaxPool1D(2), "MaxPool1D(kernel_size=2, stride=None, padding=0)", lambda x: x.reshape(2, 4, 3, 2).max(-1)),
    (nn.AdaptiveAvgPool1D(3), "AdaptiveAvgPool1D(output_size=3)", lambda x: x.reshape(2, 4, 3, 2).mean(-1)),
    (
        nn.BatchNorm1D(4),
        "BatchNorm1D(num_features=4, momentum=0.9, epsilon=1e-05, data_format=NCL)",
        lambda x: standard(x, (0, 2)),
    ),
    (nn.InstanceNorm1D(4), "InstanceNorm1D(num_features=4, epsilon=1e-05)", lambda x: standard(x, 2)),
    (
        nn.GroupNorm(2, 4),
        "GroupNorm(num_groups=2, num_channels=4, epsilon=1e-05)",
        lambda x: standard(x.reshape(2, 2, 12), -1).reshape(x.shape),
    ),
    (nn.LayerNorm([4, 6]), "LayerNorm(normalized_shape=[4, 6], epsilon=1e-05)", lambda x: standard(x, (1, 2))),
    (nn.ChannelShuffle(2, "NCL"), "ChannelShuffle(groups=2, data_format=NCL)", lambda x: x[:, [0, 2, 1, 3]]),
    (
        nn.Upsample(scale_factor=2),
        "Upsample(scale_factor=2, mode=nearest, align_corners=False, align_mode=0, data_format=None)",
        lambda x: x.repeat(2, -1),
    ),
]


@pytest.mark.parametrize(("layer", "text", "formula"), LAYERS, ids=lambda v: v if isinstance(v, str) else "")
def test_a_layer_computes_its_formula(layer: Any, text: str, formula: Callable[[Array], Array]) -> None:
    assert repr(layer) == text
    y = layer(paddle.to_tensor(X))
    np.testing.assert_allclose(y.numpy(), formula(X), rtol=2e-5, atol=2e-6)


def test_layers_with_weights() -> None:
    x = paddle.to_tensor(X)
    linear = nn.Linear(6, 2)
    np.testing.assert_allclose(linear(x).numpy(), X @ linear.weight.numpy() + linear.bias.numpy(), rtol=1e-5, atol=1e-6)
    assert repr(linear) == "Linear(in_features=6, out_features=2, dtype=float32)"
    table = nn.Embedding(5, 2, padding_idx=-1)
    assert table(paddle.to_tensor([4, 0])).numpy()[0].tolist() == [0.0, 0.0]
    conv = nn.Conv1D(4, 3, 3, padding=1, padding_mode="circular")
    padded = np.pad(X, [(0, 0), (0, 0), (1, 1)], mode="wrap")
    windows = np.stack([padded[..., i : i + 3] for i in range(6)], 2)
    want = np.einsum("bclk,fck->bfl", windows, conv.weight.numpy())
    np.testing.assert_allclose(conv(x).numpy(), want, rtol=1e-4, atol=1e-5)
    assert repr(conv) == "Conv1D(4, 3, kernel_size=[3], padding=1, padding_mode=circular, data_format=NCL)"
    last = nn.Conv1D(4, 3, 3, data_format="NLC")
    first = nn.Conv1D(4, 3, 3)
    first.set_state_dict(last.state_dict())
    moved = last(x.transpose([0, 2, 1])).transpose([0, 2, 1])
    np.testing.assert_allclose(moved.numpy(), first(x).numpy(), rtol=1e-5, atol=1e-6)
    assert nn.Conv2DTranspose(3, 4, 3, stride=2)(paddle.ones([1, 3, 4, 4]), output_size=[10, 10]).shape == [
        1,
        4,
        10,
        10,
    ]
    norm = nn.BatchNorm1D(4)
    assert list(norm.state_dict()) == ["weight", "bias", "_mean", "_variance"]
    norm(x)
    np.testing.assert_allclose(norm._mean.numpy(), 0.1 * X.mean((0, 2)), rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(norm._variance.numpy(), 0.9 + 0.1 * X.var((0, 2)), rtol=1e-4)
    assert norm._mean.stop_gradient


def test_losses() -> None:
    x, y = normal(3, 4), normal(3, 4, seed=1)
    a, b = paddle.to_tensor(x), paddle.to_tensor(y)
    signs = paddle.to_tensor(np.sign(y))
    labels = paddle.to_tensor([0, 3, 1])
    chosen = np.exp(x) / np.exp(x).sum(1, keepdims=True)
    rows: list[tuple[Any, tuple[Any, ...], Array]] = [
        (nn.MSELoss, (a, b), (x - y) ** 2),
        (nn.L1Loss, (a, b), np.abs(x - y)),
        (nn.CrossEntropyLoss, (a, labels), -np.log(chosen[np.arange(3), [0, 3, 1]])),
        (nn.SoftMarginLoss, (a, signs), np.log1p(np.exp(-np.sign(y) * x))),
        (nn.HingeEmbeddingLoss, (a, signs), np.where(y > 0, x, np.maximum(1 - x, 0))),
        (nn.MarginRankingLoss, (a, b, signs), np.maximum(-np.sign(y) * (x - y), 0)),
        (nn.PoissonNLLLoss, (a, b), np.exp(x) - y * x),
        (nn.GaussianNLLLoss, (a, b, b * b + 1), 0.5 * (np.log(y**2 + 1) + (x - y) ** 2 / (y**2 + 1))),
    ]
    for loss, inputs, want in rows:
        np.testing.assert_allclose(loss(reduction="none")(*inputs).numpy(), want, rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(loss(reduction="sum")(*inputs).item(), want.sum(), rtol=1e-4)
        np.testing.assert_allclose(loss()(*inputs).item(), want.mean(), rtol=1e-4)
        assert repr(loss()) == f"{loss.__name__}()"
    with pytest.raises(ValueError, match="should be 'sum', 'mean' or 'none', but received max"):
        nn.MSELoss("max")
    soft = nn.CrossEntropyLoss(soft_label=True, reduction="none")(a, paddle.to_tensor(chosen))
    assert soft.shape == [3, 1]


def test_containers() -> None:
    named = nn.Sequential(("a", nn.Linear(1, 1)), ("b", nn.ReLU()))
    assert isinstance(named["b"], nn.ReLU)
    assert isinstance(nn.Sequential(OrderedDict(x=nn.ReLU())).x, nn.ReLU)
    assert len(named[:1]) == 1
    layers = nn.LayerList([nn.Linear(1, 1) for _ in range(2)])
    layers.append(nn.ReLU())
    layers.insert(0, nn.Tanh())
    assert [type(layer).__name__ for layer in layers] == ["Tanh", "Linear", "Linear", "ReLU"]
    assert isinstance(layers[-1], nn.ReLU)
    held = nn.LayerDict({"x": nn.ReLU()})
    held.update([("y", nn.Tanh())])
    assert list(held.keys()) == ["x", "y"]
    assert isinstance(held.pop("x"), nn.ReLU)
    weights = nn.ParameterList([paddle.create_parameter([n + 1], "float32") for n in range(2)])
    weights.append(paddle.create_parameter([3], "float32"))
    assert [w.shape for w in weights] == [[1], [2], [3]]
    assert len(weights.parameters()) == 3
    by_name = nn.ParameterDict({"w": weights[0]})
    assert list(by_name) == ["w"]
    assert repr(nn.Sequential(nn.Linear(2, 1), nn.ReLU())) == (
        "Sequential(\n  (0): Linear(in_features=2, out_features=1, dtype=float32)\n  (1): ReLU()\n)"
    )


def late() -> Any:
    class Late(nn.Layer):  # type: ignore[misc]
        def __init__(self) -> None:
            self.layer = nn.ReLU()

    return Late()


def test_mistakes() -> None:
    mistakes: list[tuple[Any, str]] = [
        (late, "super().__init__() should be called first"),
        (lambda: setattr(Net(), "first", 3), "assignment to sublayer 'first' should be of type Layer or None"),
        (lambda: setattr(Net(), "scale", 3), "assignment to parameter 'scale' should be of type Parameter or None"),
        (lambda: Net().add_parameter("a.b", None), "The name of parameter can not contain `.`"),
        (lambda: Net().add_parameter("w", paddle.ones([1])), "The parameter to be added should be a Parameter"),
        (lambda: Net().register_buffer("first", None), "The buffer 'first' already exists."),
        (lambda: Net().missing, "'Net' object has no attribute 'missing'"),
        (lambda: nn.Conv2D(3, 4, 3, groups=2), "in_channels must be divisible by groups."),
        (lambda: nn.Embedding(3, 2, 5), "padding_idx must be within [-3, 3)"),
        (lambda: nn.BatchNorm2D(3)(paddle.ones([2, 3])), "expected 4D input (got 2D input)"),
        (lambda: nn.LSTM(2, 2, direction="both"), "direction should be forward or bidirect"),
        (lambda: nn.MultiHeadAttention(6, 4), "embed_dim must be divisible by num_heads"),
        (lambda: nn.Linear(2, 2, weight_attr=3), "cast to ParamAttr is not supported"),
    ]
    for wrong, text in mistakes:
        with pytest.raises((ValueError, TypeError, KeyError, AttributeError, AssertionError)) as raised:
            wrong()
        assert text in raised.value.args[0]


@pytest.mark.parametrize("kind", ["SimpleRNN", "LSTM", "GRU"])
def test_recurrent_networks_are_loops_over_their_cells(kind: str) -> None:
    net = getattr(nn, kind)(3, 4, direction="bidirect")
    x = paddle.to_tensor(normal(2, 5, 3))
    y, end = net(x)
    loop = nn.BiRNN(net[0].cell_fw, net[0].cell_bw)
    want, (last, first) = loop(x)
    np.testing.assert_allclose(y.numpy(), want.numpy(), rtol=1e-5, atol=1e-6)
    ends = zip(end, last, first, strict=True) if kind == "LSTM" else [(end, last, first)]
    for state, a, b in ends:
        np.testing.assert_allclose(state.numpy(), np.stack([a.numpy(), b.numpy()]), rtol=1e-5, atol=1e-6)
    lengths = paddle.to_tensor([3, 5])
    short, _ = net(x, sequence_length=lengths)
    assert short.numpy()[0, 3:].tolist() == np.zeros((2, 8)).tolist()
    alone, _ = net(x[:1, :3])
    np.testing.assert_allclose(short.numpy()[0, :3], alone.numpy()[0], rtol=1e-5, atol=1e-6)
    assert len(net.parameters()) == 8
    assert net.weight_ih_l0_reverse is net[0].cell_bw.weight_ih
    assert repr(nn.GRU(3, 4)) == "GRU(3, 4\n  (0): RNN(\n    (cell): GRUCell(3, 4)\n  )\n)"


def test_a_cell_of_ones_own() -> None:
    class Sum(nn.RNNCellBase):  # type: ignore[misc]
        state_shape = (1,)

        def forward(self, x: Any, state: Any) -> Any:
            return x + state, x + state

    y, end = nn.RNN(Sum())(paddle.to_tensor([[[1.0], [2.0], [3.0]]]))
    assert y.numpy().ravel().tolist() == [1.0, 3.0, 6.0]
    assert end.item() == 6.0


def test_transformers() -> None:
    layer = nn.TransformerEncoderLayer(8, 2, 16, 0.0)
    net = nn.TransformerEncoder(layer, 2)
    x = paddle.to_tensor(normal(1, 5, 8), stop_gradient=False)
    mask = nn.Transformer(8, 2, 1, 1, 8).generate_square_subsequent_mask(5)
    net(x, mask)[0, 2].sum().backward()
    assert (x.grad.numpy()[0] != 0).any(-1).tolist() == [True, True, True, False, False]
    # With a cache the steps come one by one.
    cache, parts = net.gen_cache(x), []
    for t in range(5):
        part, cache = net(x[:, t : t + 1], None, cache)
        parts.append(part.numpy())
    np.testing.assert_allclose(np.concatenate(parts, 1), net(x, mask).numpy(), rtol=1e-4, atol=1e-5)
    both = nn.Transformer(8, 2, 1, 1, 16, 0.0)
    assert both(x, x[:, :2]).shape == [1, 2, 8]
    attention = nn.MultiHeadAttention(8, 2, need_weights=True)
    _, weights = attention(x, x, x, paddle.to_tensor(np.tri(5) > 0))
    np.testing.assert_allclose(weights.numpy().sum(-1), 1, rtol=1e-5)
    assert (weights.numpy()[..., np.triu_indices(5, 1)[0], np.triu_indices(5, 1)[1]] == 0).all()


def test_copies_and_pickles() -> None:
    net = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1D(2), nn.TransformerEncoderLayer(2, 1, 2))
    for again in (copy.deepcopy(net), pickle.loads(pickle.dumps(net))):
        assert list(again.state_dict()) == list(net.state_dict())
        assert again[0].weight is not net[0].weight
        assert isinstance(again[0].weight, nn.Parameter)
        np.testing.assert_array_equal(again[0].weight.numpy(), net[0].weight.numpy())


def test_a_classifier_learns() -> None:
    paddle.seed(0)
    net = nn.Sequential(
        nn.Conv2D(1, 4, 3), nn.BatchNorm2D(4), nn.ReLU(), nn.MaxPool2D(2), nn.Flatten(), nn.Linear(36, 2)
    )
    optimizer = paddle.optimizer.Adam(learning_rate=0.02, parameters=net.parameters())
    values, labels = normal(64, 1, 8, 8), np.arange(64) % 2
    values[1::2, :, :4] += 1.0
    images, wanted = paddle.to_tensor(values), paddle.to_tensor(labels)
    for _ in range(15):
        loss = nn.CrossEntropyLoss()(net(images), wanted)
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
    net.eval()
    assert (net(images).numpy().argmax(1) == labels).mean() > 0.95


def test_layers_have_the_spelling_of_torch_too() -> None:
    for theirs, own in (
        ("Conv2d", "Conv2D"),
        ("MaxUnpool1d", "MaxUnPool1D"),
        ("Module", "Layer"),
        ("ZeroPad3d", "ZeroPad3D"),
    ):
        assert getattr(paddle.nn, theirs) is getattr(paddle.nn, own)
        assert theirs in dir(paddle.nn)
    assert not hasattr(paddle.nn, "LPPool3d")


def test_parameters_are_frozen_by_trainable() -> None:
    layer: Any = nn.Linear(2, 2)
    x = paddle.ones([1, 2])
    assert layer.weight.trainable
    layer.weight.trainable = layer.bias.trainable = False
    assert layer.weight.stop_gradient
    assert layer(x).stop_gradient
    layer.weight.trainable = True
    optimizer = paddle.optimizer.SGD(0.5, parameters=layer.parameters())
    before = layer.weight.clone(), layer.bias.clone()
    layer(x).sum().backward()
    optimizer.step()
    assert layer.bias.grad is None
    assert paddle.equal_all(layer.bias, before[1])
    assert not paddle.equal_all(layer.weight, before[0])
    layer.bias.stop_gradient = False
    assert layer.bias.trainable
    with pytest.raises(ValueError, match="trainable MUST be bool"):
        layer.weight.trainable = "1"


def test_states_that_a_class_converts_are_loaded() -> None:
    class Turned(nn.Layer):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.linear = nn.Linear(3, 2)

        def state_dict(self, *args: Any, **kwargs: Any) -> Any:
            state = super().state_dict(*args, **kwargs)
            state["linear.turned"] = paddle.transpose(state.pop("linear.weight"), [1, 0])
            return state

        def set_state_dict(self, state_dict: Any, use_structured_name: bool = True) -> Any:
            state_dict["linear.weight"] = paddle.transpose(state_dict.pop("linear.turned"), [1, 0])
            return super().set_state_dict(state_dict, use_structured_name)

    first, second = Turned(), Turned()
    assert not paddle.equal_all(first.linear.weight, second.linear.weight)
    assert second.set_state_dict(first.state_dict()) == ([], [])
    assert paddle.equal_all(first.linear.weight, second.linear.weight)
    assert list(nn.Sequential(first).state_dict()) == ["0.linear.weight", "0.linear.bias"]
