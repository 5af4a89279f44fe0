"""The layers of ``torch.nn`` against NumPy, and the functions that only they need."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from ferrograd import torch as _torch
from ferrograd._core import ArgumentError, DtypeError

torch: Any = _torch
nn: Any = torch.nn
F: Any = nn.functional

Array = np.ndarray[Any, Any]


def normal(*shape: int, seed: int = 0) -> Array:
    return np.random.default_rng(seed).normal(size=shape)


def sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


def softmax(x: Array, axis: int) -> Array:
    e = np.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


X = normal(3, 4, 6)
ACTIVATIONS: list[tuple[Any, str, Callable[[Array], Array]]] = [
    (nn.ReLU(), "ReLU()", lambda x: np.maximum(x, 0)),
    (nn.ReLU6(inplace=True), "ReLU6(inplace=True)", lambda x: np.clip(x, 0, 6)),
    (nn.Hardtanh(-0.5, 0.25), "Hardtanh(min_val=-0.5, max_val=0.25)", lambda x: np.clip(x, -0.5, 0.25)),
    (nn.Sigmoid(), "Sigmoid()", sigmoid),
    (nn.Hardsigmoid(True), "Hardsigmoid()", lambda x: np.clip(x / 6 + 0.5, 0, 1)),
    (nn.Tanh(), "Tanh()", np.tanh),
    (nn.SiLU(), "SiLU()", lambda x: x * sigmoid(x)),
    (nn.Mish(), "Mish()", lambda x: x * np.tanh(np.log1p(np.exp(x)))),
    (nn.Hardswish(), "Hardswish()", lambda x: x * np.clip(x / 6 + 0.5, 0, 1)),
    (nn.ELU(0.5, True), "ELU(alpha=0.5, inplace=True)", lambda x: np.where(x > 0, x, 0.5 * np.expm1(x))),
    (nn.CELU(2.0), "CELU(alpha=2.0)", lambda x: np.where(x > 0, x, 2 * np.expm1(x / 2))),
    (
        nn.SELU(),
        "SELU()",
        lambda x: 1.0507009873554805 * np.where(x > 0, x, 1.6732632423543772 * np.expm1(x)),
    ),
    (nn.GLU(1), "GLU(dim=1)", lambda x: x[:, :2] * sigmoid(x[:, 2:])),
    (nn.GELU(), "GELU(approximate='none')", lambda x: x * np.vectorize(lambda v: 0.5 + 0.5 * math.erf(v / 2**0.5))(x)),
    (nn.Hardshrink(), "Hardshrink(0.5)", lambda x: np.where(np.abs(x) > 0.5, x, 0)),
    (nn.Softshrink(0.1), "Softshrink(0.1)", lambda x: np.sign(x) * np.maximum(np.abs(x) - 0.1, 0)),
    (nn.LeakyReLU(0.2), "LeakyReLU(negative_slope=0.2)", lambda x: np.where(x > 0, x, 0.2 * x)),
    (nn.RReLU(0.1, 0.3).eval(), "RReLU(lower=0.1, upper=0.3)", lambda x: np.where(x > 0, x, 0.2 * x)),
    (nn.LogSigmoid(), "LogSigmoid()", lambda x: -np.log1p(np.exp(-x))),
    (nn.Softplus(2), "Softplus(beta=2, threshold=20.0)", lambda x: np.log1p(np.exp(2 * x)) / 2),
    (nn.Softsign(), "Softsign()", lambda x: x / (1 + np.abs(x))),
    (nn.Tanhshrink(), "Tanhshrink()", lambda x: x - np.tanh(x)),
    (nn.Threshold(0.1, 20), "Threshold(threshold=0.1, value=20)", lambda x: np.where(x > 0.1, x, 20)),
    (nn.Softmax(1), "Softmax(dim=1)", lambda x: softmax(x, 1)),
    (nn.Softmin(dim=-1), "Softmin(dim=-1)", lambda x: softmax(-x, -1)),
    (nn.LogSoftmax(0), "LogSoftmax(dim=0)", lambda x: np.log(softmax(x, 0))),
    (nn.Softmax2d(), "Softmax2d()", lambda x: softmax(x, 0)),
    (nn.PReLU(4, 0.3), "PReLU(num_parameters=4)", lambda x: np.where(x > 0, x, np.float32(0.3) * x)),
    (nn.Identity(1, a=2), "Identity()", lambda x: x),
    (nn.Flatten(), "Flatten(start_dim=1, end_dim=-1)", lambda x: x.reshape(3, 24)),
    (
        nn.Unflatten(1, (2, 2)),
        "Unflatten(dim=1, unflattened_size=(2, 2))",
        lambda x: x.reshape(3, 2, 2, 6),
    ),
    (nn.ConstantPad1d((1, 2), 5), "ConstantPad1d(padding=(1, 2), value=5)", lambda x: wide(x, constant_values=5)),
    (nn.ZeroPad1d((1, 2)), "ZeroPad1d((1, 2))", lambda x: wide(x)),
    (nn.ReflectionPad1d((1, 2)), "ReflectionPad1d((1, 2))", lambda x: wide(x, mode="reflect")),
    (nn.ReplicationPad1d((1, 2)), "ReplicationPad1d((1, 2))", lambda x: wide(x, mode="edge")),
    (nn.CircularPad1d((1, 2)), "CircularPad1d((1, 2))", lambda x: wide(x, mode="wrap")),
    (
        nn.MaxPool1d(2),
        "MaxPool1d(kernel_size=2, stride=2, padding=0, dilation=1, ceil_mode=False)",
        lambda x: x.reshape(3, 4, 3, 2).max(-1),
    ),
    (nn.AvgPool1d(2), "AvgPool1d(kernel_size=(2,), stride=(2,), padding=(0,))", lambda x: parts(x).mean(-1)),
    (
        nn.LPPool1d(2, 2),
        "LPPool1d(norm_type=2, kernel_size=2, stride=None, ceil_mode=False)",
        lambda x: np.sqrt((parts(x) ** 2).sum(-1)),
    ),
    (nn.AdaptiveAvgPool1d(3), "AdaptiveAvgPool1d(output_size=3)", lambda x: parts(x).mean(-1)),
    (nn.AdaptiveMaxPool1d(3), "AdaptiveMaxPool1d(output_size=3)", lambda x: parts(x).max(-1)),
    (
        nn.LayerNorm(6),
        "LayerNorm((6,), eps=1e-05, elementwise_affine=True, bias=True)",
        lambda x: standard(x, -1),
    ),
    (
        nn.GroupNorm(2, 4),
        "GroupNorm(2, 4, eps=1e-05, affine=True, bias=True)",
        lambda x: standard(x.reshape(3, 2, 12), -1).reshape(x.shape),
    ),
    (
        nn.RMSNorm(6, eps=1e-5),
        "RMSNorm((6,), eps=1e-05, elementwise_affine=True)",
        lambda x: x / np.sqrt((x**2).mean(-1, keepdims=True) + 1e-5),
    ),
    (
        nn.BatchNorm1d(4),
        "BatchNorm1d(4, eps=1e-05, momentum=0.1, affine=True, bias=True, track_running_stats=True)",
        lambda x: standard(x, (0, 2)),
    ),
    (
        nn.InstanceNorm1d(4),
        "InstanceNorm1d(4, eps=1e-05, momentum=0.1, affine=False, bias=False, track_running_stats=False)",
        lambda x: standard(x, 2),
    ),
    (nn.Dropout(0.4).eval(), "Dropout(p=0.4, inplace=False)", lambda x: x),
    (nn.Upsample(scale_factor=2), "Upsample(scale_factor=2.0, mode='nearest')", lambda x: x.repeat(2, -1)),
    (nn.ChannelShuffle(2), "ChannelShuffle(groups=2)", lambda x: x[:, [0, 2, 1, 3]]),
]


def wide(x: Array, **options: Any) -> Array:
    return np.pad(x, [(0, 0), (0, 0), (1, 2)], **options)


def parts(x: Array) -> Array:
    return x.reshape(3, 4, 3, 2)


def standard(x: Array, axis: Any) -> Array:
    return (x - x.mean(axis, keepdims=True)) / np.sqrt(x.var(axis, keepdims=True) + 1e-5)


@pytest.mark.parametrize(("layer", "text", "formula"), ACTIVATIONS, ids=lambda v: v if isinstance(v, str) else "")
def test_a_layer_computes_its_formula(layer: Any, text: str, formula: Callable[[Array], Array]) -> None:
    assert repr(layer) == text
    y = layer.double()(torch.tensor(X))
    np.testing.assert_allclose(y.detach().numpy(), formula(X), rtol=1e-7, atol=1e-9)


def test_calls_name_their_inputs() -> None:
    for layer, names in (
        (torch.nn.Sigmoid, ["input"]),
        (torch.nn.Softmax, ["input"]),
        (torch.nn.CosineSimilarity, ["x1", "x2"]),
        (torch.nn.PoissonNLLLoss, ["log_input", "target"]),
        (torch.nn.CrossEntropyLoss, ["input", "target"]),
        (torch.nn.CTCLoss, ["log_probs", "targets", "input_lengths", "target_lengths"]),
        (torch.nn.TripletMarginLoss, ["anchor", "positive", "negative"]),
        (torch.nn.MaxUnpool2d, ["input", "indices", "output_size"]),
    ):
        assert list(inspect.signature(layer.forward).parameters) == ["self", *names]
    with pytest.raises(TypeError, match=r"ReLU\.forward\(\) missing 1 required positional argument: 'input'"):
        torch.nn.ReLU()()
    with pytest.raises(TypeError, match=r"Tanh\.forward\(\) takes 2 positional arguments but 3 were given"):
        torch.nn.Tanh()(torch.ones(1), 2)

    class Doubled(torch.nn.ReLU):  # type: ignore[misc]
        def forward(self, x: Any) -> Any:
            return 2 * super().forward(x)

    assert Doubled()(torch.tensor([-1.0, 1.0])).tolist() == [0.0, 2.0]


def test_signatures_are_torchs() -> None:
    for layer, text in (
        (nn.MaxPool2d, "(kernel_size, stride=None, padding=0, dilation=1, return_indices=False, ceil_mode=False)"),
        (nn.CrossEntropyLoss, "(weight=None, size_average=None, ignore_index=-100, reduce=None, reduction='mean',"),
        (nn.SmoothL1Loss, "(size_average=None, reduce=None, reduction='mean', beta=1.0)"),
        (nn.Upsample, "(size=None, scale_factor=None, mode='nearest', align_corners=None, recompute_scale_factor="),
        (nn.Hardtanh, "(min_val=-1.0, max_val=1.0, inplace=False, min_value=None, max_value=None)"),
    ):
        assert str(inspect.signature(layer)).startswith(text)


def test_linear_layers() -> None:
    layer = nn.Linear(6, 2).double()
    want = X @ layer.weight.detach().numpy().T + layer.bias.detach().numpy()
    np.testing.assert_allclose(layer(torch.tensor(X)).detach().numpy(), want, rtol=1e-12)
    pair = nn.Bilinear(6, 4, 5).double()
    y = normal(3, 4, 4)
    want = np.einsum("abi,oij,abj->abo", X, pair.weight.detach().numpy(), y) + pair.bias.detach().numpy()
    np.testing.assert_allclose(pair(torch.tensor(X), torch.tensor(y)).detach().numpy(), want, rtol=1e-12)
    assert repr(pair) == "Bilinear(in1_features=6, in2_features=4, out_features=5, bias=True)"


@pytest.mark.parametrize("mode", ["zeros", "reflect", "replicate", "circular"])
@pytest.mark.parametrize("padding", [1, "same", (2,)])
def test_convolutions_pad_as_they_are_told(mode: str, padding: Any) -> None:
    layer = nn.Conv1d(4, 2, 3, padding=padding, padding_mode=mode).double()
    width = 2 if padding == (2,) else 1
    kinds: dict[str, Any] = {"zeros": "constant", "reflect": "reflect", "replicate": "edge", "circular": "wrap"}
    padded = np.pad(X, [(0, 0), (0, 0), (width, width)], mode=kinds[mode])
    weight, bias = layer.weight.detach().numpy(), layer.bias.detach().numpy()
    windows = np.stack([padded[..., i : i + 3] for i in range(padded.shape[-1] - 2)], 2)
    want = np.einsum("bclk,fck->bfl", windows, weight) + bias[:, None]
    np.testing.assert_allclose(layer(torch.tensor(X)).detach().numpy(), want, rtol=1e-10, atol=1e-12)
    assert ("padding_mode" in repr(layer)) == (mode != "zeros")


def test_transposed_convolutions() -> None:
    layer = nn.ConvTranspose2d(2, 3, 3, stride=2, padding=1, bias=False).double()
    forward = nn.Conv2d(3, 2, 3, stride=2, padding=1, bias=False).double()
    forward.weight = layer.weight
    x, y = torch.tensor(normal(1, 3, 6, 6)), torch.tensor(normal(1, 2, 3, 3))
    back = layer(y, output_size=(6, 6))
    assert back.shape == x.shape
    assert (back * x).sum().item() == pytest.approx((forward(x) * y).sum().item())
    with pytest.raises(ValueError, match=r"valid sizes range from \[5, 5\] to \[6, 6\]"):
        layer(y, output_size=(8, 8))


def test_batch_norm_follows_the_batches() -> None:
    layer = nn.BatchNorm1d(4, momentum=None).double()
    for seed in (1, 2, 3):
        layer(torch.tensor(normal(5, 4, seed=seed)))
    batches = [normal(5, 4, seed=seed) for seed in (1, 2, 3)]
    np.testing.assert_allclose(layer.running_mean.numpy(), np.mean([b.mean(0) for b in batches], 0), rtol=1e-12)
    np.testing.assert_allclose(layer.running_var.numpy(), np.mean([b.var(0, ddof=1) for b in batches], 0), rtol=1e-12)
    assert layer.num_batches_tracked.item() == 3
    x = normal(2, 4)
    want = (x - layer.running_mean.numpy()) / np.sqrt(layer.running_var.numpy() + 1e-5)
    np.testing.assert_allclose(layer.eval()(torch.tensor(x)).detach().numpy(), want, rtol=1e-12)
    with pytest.raises(ValueError, match=r"expected 2D or 3D input \(got 4D input\)"):
        layer(torch.ones(1, 4, 1, 1))
    assert "num_batches_tracked" in layer.state_dict()
    plain, of_all = nn.BatchNorm1d(4, bias=False), nn.SyncBatchNorm(4, bias=False)
    assert plain.bias is of_all.bias is None
    batch = torch.tensor(x, dtype=torch.float32)
    assert of_all(batch).tolist() == plain(batch).tolist()


def test_tables_of_vectors() -> None:
    table = nn.Embedding(5, 2, padding_idx=-1)
    assert table.padding_idx == 4
    assert table.weight[4].tolist() == [0.0, 0.0]
    table(torch.tensor([[0, 4], [0, 1]])).sum().backward()
    assert table.weight.grad[:, 0].tolist() == [2.0, 1.0, 0.0, 0.0, 0.0]
    frozen = nn.Embedding.from_pretrained(torch.eye(3))
    assert not frozen.weight.requires_grad
    short = nn.Embedding(4, 3, max_norm=1.0)
    rows = short(torch.tensor([1, 2])).detach().numpy()
    assert (np.linalg.norm(rows, axis=1) <= 1 + 1e-6).all()
    np.testing.assert_array_equal(rows, short.weight.detach().numpy()[1:3])
    rare = nn.Embedding(3, 1, scale_grad_by_freq=True)
    rare(torch.tensor([0, 0, 1])).sum().backward()
    assert rare.weight.grad.ravel().tolist() == [1.0, 1.0, 0.0]
    assert repr(nn.Embedding(5, 2, 1)) == "Embedding(5, 2, padding_idx=1)"


@pytest.mark.parametrize(("mode", "pool"), [("sum", np.sum), ("mean", np.mean), ("max", np.max)])
def test_bags_of_vectors(mode: str, pool: Any) -> None:
    bag = nn.EmbeddingBag(6, 2, mode=mode).double()
    weight = bag.weight.detach().numpy()
    ids, offsets = np.array([1, 2, 2, 5, 0]), np.array([0, 2, 2])
    want = np.stack([pool(weight[ids[:2]], 0), np.zeros(2), pool(weight[ids[2:]], 0)])
    got = bag(torch.tensor(ids), torch.tensor(offsets))
    np.testing.assert_allclose(got.detach().numpy(), want, rtol=1e-12)
    matrix = ids[:4].reshape(2, 2)
    np.testing.assert_allclose(bag(torch.tensor(matrix)).detach().numpy(), pool(weight[matrix], 1), rtol=1e-12)
    with pytest.raises(ArgumentError, match="offsets has to be a 1D Tensor but got None"):
        bag(torch.tensor(ids))


def test_dropout_of_channels_drops_whole_channels() -> None:
    x = torch.ones(8, 16, 3, 3)
    y = nn.Dropout2d(0.5)(x).numpy().reshape(128, 9)
    assert set(np.unique(y)) == {0.0, 2.0}
    assert (y.min(1) == y.max(1)).all()
    z = nn.AlphaDropout(0.3)(torch.randn(20000)).numpy()
    assert abs(z.mean()) < 0.05
    assert abs(z.std() - 1) < 0.05
    with pytest.warns(UserWarning, match="Received a 3-D input"):
        nn.Dropout2d()(torch.ones(2, 3, 4))


@pytest.mark.parametrize("layer", [nn.AlphaDropout, nn.FeatureAlphaDropout])
def test_alpha_dropout_never_writes_to_its_input(layer: Any) -> None:
    x = torch.ones(8, 4, requires_grad=True)
    y = layer(0.5, inplace=True)(x)
    assert x.detach().tolist() == [[1.0] * 4] * 8
    assert y.detach().tolist() != x.detach().tolist()


LOSSES: list[tuple[Any, list[Any], Callable[..., Array]]] = [
    (nn.L1Loss, [X, X + 1], lambda x, y: np.abs(x - y)),
    (nn.MSELoss, [X, X + 2], lambda x, y: (x - y) ** 2),
    (nn.BCELoss, [sigmoid(X), X > 0], lambda p, t: -(t * np.log(p) + (1 - t) * np.log(1 - p))),
    (
        nn.BCEWithLogitsLoss,
        [X, sigmoid(X)],
        lambda x, t: -(t * np.log(sigmoid(x)) + (1 - t) * np.log(1 - sigmoid(x))),
    ),
    (nn.HuberLoss, [X, X * 0], lambda x, y: np.where(np.abs(x) < 1, x**2 / 2, np.abs(x) - 0.5)),
    (nn.SmoothL1Loss, [X, X * 0], lambda x, y: np.where(np.abs(x) < 1, x**2 / 2, np.abs(x) - 0.5)),
    (nn.KLDivLoss, [X, sigmoid(X)], lambda x, t: t * (np.log(t) - x)),
    (nn.PoissonNLLLoss, [X, X**2], lambda x, t: np.exp(x) - t * x),
    (
        nn.GaussianNLLLoss,
        [X, X + 1, sigmoid(X)],
        lambda x, t, v: 0.5 * (np.log(v) + (x - t) ** 2 / v),
    ),
    (nn.HingeEmbeddingLoss, [X, np.sign(X[::-1])], lambda x, t: np.where(t == 1, x, np.maximum(1 - x, 0))),
    (nn.SoftMarginLoss, [X, np.sign(X[::-1])], lambda x, t: np.log1p(np.exp(-t * x))),
    (nn.MarginRankingLoss, [X, X[::-1], np.sign(X)], lambda a, b, t: np.maximum(-t * (a - b), 0)),
    (nn.CrossEntropyLoss, [X[0], np.arange(4)], lambda x, t: -np.log(softmax(x, 1))[np.arange(4), t]),
    (nn.NLLLoss, [X[0], np.arange(4)], lambda x, t: -x[np.arange(4), t]),
    (
        nn.MultiMarginLoss,
        [X[0], np.arange(4)],
        lambda x, t: (np.maximum(1 - x[np.arange(4), t][:, None] + x, 0).sum(1) - 1) / 6,
    ),
    (
        nn.MultiLabelSoftMarginLoss,
        [X[0], (X[1] > 0) * 1.0],
        lambda x, t: (np.log1p(np.exp(-x)) * t + np.log1p(np.exp(x)) * (1 - t)).mean(1),
    ),
    (
        nn.CosineEmbeddingLoss,
        [X[0], X[1], np.array([1.0, -1, 1, -1])],
        lambda a, b, t: np.where(
            t == 1,
            1 - (a * b).sum(1) / np.linalg.norm(a, axis=1) / np.linalg.norm(b, axis=1),
            np.maximum((a * b).sum(1) / np.linalg.norm(a, axis=1) / np.linalg.norm(b, axis=1), 0),
        ),
    ),
    (
        nn.TripletMarginLoss,
        [X[0], X[1], X[2]],
        lambda a, p, n: np.maximum(np.linalg.norm(a - p + 1e-6, axis=1) - np.linalg.norm(a - n + 1e-6, axis=1) + 1, 0),
    ),
    (
        nn.TripletMarginWithDistanceLoss,
        [X[0], X[1], X[2]],
        lambda a, p, n: np.maximum(np.linalg.norm(a - p + 1e-6, axis=1) - np.linalg.norm(a - n + 1e-6, axis=1) + 1, 0),
    ),
    (
        nn.MultiLabelMarginLoss,
        [X[0], np.array([[1, 2, -1, 0, 0, 0]] * 4)],
        lambda x, t: sum(np.maximum(1 - x[:, [k]] + x[:, [0, 3, 4, 5]], 0).sum(1) for k in (1, 2)) / 6,
    ),
]


@pytest.mark.parametrize(("loss", "inputs", "formula"), LOSSES, ids=[row[0].__name__ for row in LOSSES])
def test_a_loss_computes_its_formula(loss: Any, inputs: list[Any], formula: Callable[..., Array]) -> None:
    given = [torch.tensor(np.asarray(a) * 1.0 if a.dtype.kind == "b" else np.asarray(a)) for a in inputs]
    want = formula(*inputs)
    for reduction, reduce in (("none", np.asarray), ("mean", np.mean), ("sum", np.sum)):
        got = loss(reduction=reduction)(*given)
        np.testing.assert_allclose(got.numpy(), reduce(want), rtol=1e-9, atol=1e-9)
    with pytest.raises((ValueError, RuntimeError)):
        loss(reduction="median")(*given)
    if "size_average" in inspect.signature(loss).parameters:
        assert loss(size_average=False).reduction == "sum"
        assert loss(reduce=False).reduction == "none"


def test_weights_of_losses_are_buffers() -> None:
    loss = nn.CrossEntropyLoss(torch.tensor([1.0, 3.0]))
    assert list(loss.state_dict()) == ["weight"]
    got = loss(torch.zeros(2, 2), torch.tensor([0, 1])).item()
    assert got == pytest.approx(math.log(2))
    assert loss.double().weight.dtype == torch.float64


def test_linear_cross_entropy_loss() -> None:
    weight = torch.tensor([1.0, 2.0, 0.5])
    loss = nn.LinearCrossEntropyLoss(
        4, 3, out_features=(2,), bias=True, weight=weight, ignore_index=2, options=nn.LinearCrossEntropyOptions()
    )
    assert list(loss.state_dict()) == ["weight", "linear.weight", "linear.bias"]
    assert loss.linear.weight.shape == (6, 4)
    x, target = torch.tensor(normal(5, 4)).float(), torch.tensor([[0, 1], [2, 0], [1, 1], [0, 2], [2, 1]])
    logits = loss.linear(x).reshape(5, 3, 2)
    want = nn.functional.cross_entropy(logits, target, weight, ignore_index=2)
    assert loss(x, target).item() == pytest.approx(want.item(), rel=1e-6)
    loss(x, target).backward()
    assert loss.linear.bias.grad is not None
    for wrong in ({"weight": torch.ones(2)}, {"label_smoothing": 2.0}):
        with pytest.raises(RuntimeError, match="LinearCrossEntropyLoss"):
            nn.LinearCrossEntropyLoss(4, 3, **wrong)


def test_images() -> None:
    x = torch.arange(16.0).reshape(1, 4, 2, 2)
    y = nn.PixelShuffle(2)(x)
    assert y[0, 0, 0].tolist() == [0.0, 4.0, 1.0, 5.0]
    assert nn.PixelUnshuffle(2)(y).tolist() == x.tolist()
    image = torch.tensor(normal(2, 3, 5, 6))
    columns = nn.Unfold((2, 3), padding=1, stride=2)(image)
    assert columns.shape == (2, 18, 9)
    padded = np.pad(image.numpy(), [(0, 0), (0, 0), (1, 1), (1, 1)])
    np.testing.assert_array_equal(columns.numpy()[0, :, 1], padded[0, :, 0:2, 2:5].ravel())
    back = nn.Fold((5, 6), (2, 3), padding=1, stride=2)(columns)
    counts = nn.Fold((5, 6), (2, 3), padding=1, stride=2)(nn.Unfold((2, 3), padding=1, stride=2)(image * 0 + 1))
    np.testing.assert_allclose(back.numpy(), (image * counts).numpy(), rtol=1e-12)
    pool, undo = nn.MaxPool2d(2, return_indices=True), nn.MaxUnpool2d(2)
    small, at = pool(image)
    wide = undo(small, at, output_size=(5, 6))
    assert wide.shape == image.shape
    np.testing.assert_array_equal(pool(wide.abs())[0].numpy(), np.abs(small.numpy()))


def test_interpolation() -> None:
    x = torch.tensor([[[0.0, 1.0, 4.0]]])
    assert F.interpolate(x, torch.tensor(6)).tolist() == F.interpolate(x, 6).tolist()
    assert F.interpolate(x, [torch.tensor(5)], mode="linear").shape == (1, 1, 5)
    assert F.interpolate(x, 6).tolist() == [[[0.0, 0.0, 1.0, 1.0, 4.0, 4.0]]]
    assert F.interpolate(x, 5, mode="linear", align_corners=True).tolist() == [[[0.0, 0.5, 1.0, 2.5, 4.0]]]
    assert F.interpolate(x, 6, mode="linear").tolist() == [[[0.0, 0.25, 0.75, 1.75, 3.25, 4.0]]]
    assert F.interpolate(x, scale_factor=1 / 3, mode="area").item() == pytest.approx(5 / 3)
    ramp = torch.arange(8.0).reshape(1, 1, 1, 8).expand(1, 1, 4, 8)
    cubic = F.interpolate(ramp, (4, 16), mode="bicubic")[0, 0, 0, 6:10].numpy()
    np.testing.assert_allclose(cubic, [2.703125, 3.296875, 3.703125, 4.296875], rtol=1e-6)
    for options, text in (
        ({}, "either size or scale_factor should be defined"),
        ({"size": 2, "scale_factor": 2}, "only one of size or scale_factor should be defined"),
        ({"size": 2, "align_corners": True}, "align_corners option can only be set"),
        ({"size": 2, "mode": "bilinear"}, "there is no mode 'bilinear'"),
        ({"size": 2, "mode": "linear", "antialias": True}, "Anti-alias option is restricted to bilinear and bicubic"),
    ):
        with pytest.raises(ArgumentError, match=text):
            F.interpolate(x, **options)


def test_images_are_made_smaller_without_aliases() -> None:
    stripes = torch.tensor([0.0, 1.0]).repeat(8).reshape(1, 1, 1, 16)
    assert F.interpolate(stripes, (1, 4), mode="bilinear")[0, 0, 0].tolist() == [0.5] * 4
    assert F.interpolate(stripes, (1, 8), mode="bilinear", align_corners=True)[0, 0, 0, ::7].tolist() == [0.0, 1.0]
    # PyTorch's values.
    x = torch.tensor(np.arange(24.0).reshape(1, 1, 4, 6) ** 2)
    for mode, aligned, wanted in (
        ("bilinear", False, [[49.21428571, 83.14285714], [242.5, 323.57142857]]),
        ("bilinear", True, [[131.80952381, 174.33333333], [344.66666667, 422.0]]),
        ("bicubic", False, [[31.55524141, 64.51043932], [253.61265768, 346.5521966]]),
    ):
        y = F.interpolate(x, (2, 2), mode=mode, align_corners=aligned, antialias=True)[0, 0]
        np.testing.assert_allclose(y.numpy(), wanted, rtol=1e-8)
    assert torch.autograd.gradcheck(
        lambda x: F.interpolate(x, scale_factor=0.6, mode="bicubic", antialias=True), [leaf(1, 1, 5, 4)]
    )


def test_normalization_across_maps() -> None:
    x = torch.tensor(normal(2, 6, 3, 2), requires_grad=True)
    y = torch.nn.CrossMapLRN2d(3, 0.5, 0.6, 2.0)(x)
    np.testing.assert_array_equal(y.detach(), F.local_response_norm(x, 3, 0.5, 0.6, 2.0).detach())
    # A window of three channels whose squares are divided by four.
    ones = torch.nn.CrossMapLRN2d(4, 4.0, 1.0)(torch.ones(1, 4, 1, 1))
    np.testing.assert_allclose(ones.flatten().numpy(), [1 / 3, 1 / 4, 1 / 4, 1 / 3], rtol=1e-6)
    assert repr(torch.nn.CrossMapLRN2d(3)) == "CrossMapLRN2d(3, alpha=0.0001, beta=0.75, k=1)"
    with pytest.raises(ValueError, match="4D, got 3D"):
        torch.nn.CrossMapLRN2d(3)(x[0])


def test_sizes_of_images_of_bytes() -> None:
    x = torch.tensor([[[[0, 255], [100, 200]]]], dtype=torch.uint8)
    found = F.interpolate(x, (2, 3), mode="bilinear", align_corners=True)
    assert (found.dtype, found.tolist()) == (torch.uint8, [[[[0, 128, 255], [100, 150, 200]]]])
    cubic = F.interpolate(x, (2, 5), mode="bicubic")
    assert (cubic.min().item(), cubic.max().item()) == (0, 255)
    with pytest.raises(DtypeError, match="not implemented for int64"):
        F.interpolate(x.long(), 3, mode="bilinear")


def test_attention_is_softmax_of_products() -> None:
    q, k, v = (normal(2, 3, 5, 4, seed=s) for s in range(3))
    scores = q @ k.swapaxes(-1, -2) / 2
    tensors = [torch.tensor(a) for a in (q, k, v)]
    attend = F.scaled_dot_product_attention
    np.testing.assert_allclose(attend(*tensors).numpy(), softmax(scores, -1) @ v, rtol=1e-10)
    hidden = np.where(np.tri(5) > 0, scores, -np.inf)
    np.testing.assert_allclose(attend(*tensors, is_causal=True).numpy(), softmax(hidden, -1) @ v, rtol=1e-10)
    mask = torch.tensor(np.tri(5) > 0)
    np.testing.assert_allclose(attend(*tensors, attn_mask=mask).numpy(), softmax(hidden, -1) @ v, rtol=1e-10)
    nothing = attend(*tensors, attn_mask=torch.zeros(5, 5).bool())
    assert nothing.abs().sum().item() == 0
    shared = [tensors[0], tensors[1][:, :1], tensors[2][:, :1]]
    want = attend(tensors[0], *(x.expand(2, 3, 5, 4) for x in shared[1:]))
    np.testing.assert_allclose(attend(*shared, enable_gqa=True).numpy(), want.numpy())
    with pytest.raises(ArgumentError, match="Explicit attn_mask should not be set when is_causal=True"):
        attend(*tensors, attn_mask=mask, is_causal=True)


def leaf(*shape: int, seed: int = 0, positive: bool = False) -> Any:
    values = normal(*shape, seed=seed)
    return torch.tensor(np.abs(values) + 0.1 if positive else values, requires_grad=True)


SIGNS = torch.tensor([1.0, -1.0, 1.0])
DIFFERENTIATED: list[tuple[str, Callable[..., Any], list[Any]]] = [
    ("pixel_shuffle", lambda x: F.pixel_shuffle(x, 2), [leaf(1, 4, 2, 2)]),
    ("unfold", lambda x: F.unfold(x, 2, padding=1), [leaf(1, 2, 3, 3)]),
    ("fold", lambda x: F.fold(x, (3, 3), 2), [leaf(1, 8, 4)]),
    ("linear", lambda x: F.interpolate(x, 5, mode="linear"), [leaf(1, 2, 3)]),
    ("bicubic", lambda x: F.interpolate(x, scale_factor=2, mode="bicubic"), [leaf(1, 1, 2, 3)]),
    ("nearest", lambda x: F.interpolate(x, 2), [leaf(1, 2, 3)]),
    ("max_unpool1d", lambda x: F.max_unpool1d(x, torch.tensor([[[1, 2]]]), 2), [leaf(1, 1, 2)]),
    ("local_response_norm", lambda x: F.local_response_norm(x, 2, alpha=0.5), [leaf(1, 3, 2)]),
    ("attention", F.scaled_dot_product_attention, [leaf(1, 2, 3, seed=s) for s in range(3)]),
    ("bilinear", F.bilinear, [leaf(2, 3), leaf(2, 4), leaf(2, 3, 4), leaf(2)]),
    ("embedding_bag", lambda w: F.embedding_bag(torch.tensor([[0, 1], [1, 1]]), w), [leaf(3, 2)]),
    ("gaussian_nll_loss", F.gaussian_nll_loss, [leaf(3, 2), leaf(3, 2, seed=1), leaf(3, 2, positive=True)]),
    ("poisson_nll_loss", lambda x: F.poisson_nll_loss(x, torch.arange(3.0), full=True), [leaf(3)]),
    ("triplet_margin_loss", F.triplet_margin_loss, [leaf(3, 2, seed=s) for s in range(3)]),
    ("cosine_embedding_loss", lambda a, b: F.cosine_embedding_loss(a, b, SIGNS), [leaf(3, 2), leaf(3, 2, seed=1)]),
    ("multi_margin_loss", lambda x: F.multi_margin_loss(x, torch.tensor([0, 2]), p=2), [leaf(2, 3)]),
]


@pytest.mark.parametrize(("f", "inputs"), [r[1:] for r in DIFFERENTIATED], ids=[r[0] for r in DIFFERENTIATED])
def test_functions_of_the_layers_have_two_derivatives(f: Callable[..., Any], inputs: list[Any]) -> None:
    assert torch.autograd.gradcheck(f, inputs)
    assert torch.autograd.gradgradcheck(f, inputs)


@pytest.mark.parametrize(("f", "inputs"), [r[1:] for r in DIFFERENTIATED[:11]], ids=[r[0] for r in DIFFERENTIATED[:11]])
def test_functions_of_the_layers_are_batched(f: Callable[..., Any], inputs: list[Any]) -> None:
    many = [torch.stack([x.detach(), x.detach() * 2]) for x in inputs]
    together = torch.vmap(f)(*many)
    for i in range(2):
        np.testing.assert_allclose(together[i].numpy(), f(*(x[i] for x in many)).numpy(), rtol=1e-9, atol=1e-12)


def test_gumbel_softmax() -> None:
    logits = torch.tensor([[0.0, 2.0, -1.0]]).expand(4000, 3)
    hard = F.gumbel_softmax(logits, hard=True)
    np.testing.assert_allclose(hard.sum(-1).numpy(), 1, rtol=1e-6)
    np.testing.assert_allclose(hard.mean(0).numpy(), softmax(np.array([0.0, 2.0, -1.0]), 0), atol=0.04)
    soft = torch.zeros(3, requires_grad=True)
    F.gumbel_softmax(soft, hard=True)[0].backward()
    assert soft.grad.abs().sum().item() > 0


def test_the_sizes_of_a_named_axis_are_pairs() -> None:
    wrong: list[tuple[Any, Any, str]] = [
        (1, (2, 5.0), "must be tuple of ints, but found element of type float at pos 1"),
        ("features", [("C", 2)], "must be a tuple of tuples, but found type list"),
        ("features", (["C", 2],), "must be tuple of tuples, but found element of type list at pos 0"),
    ]
    for dim, sizes, text in wrong:
        with pytest.raises(TypeError, match=text):
            nn.Unflatten(dim, sizes)
    with pytest.raises(NotImplementedError, match="axes have no names here"):
        nn.Unflatten("features", (("C", 2),))
