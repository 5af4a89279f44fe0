"""Fractional pools, the adaptive softmax, hooks of all modules."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from ferrograd import testing, torch as _torch

torch: Any = _torch
nn: Any = torch.nn
F: Any = nn.functional
hooks: Any = nn.modules.module


def normal(*shape: int, seed: int = 0) -> Any:
    return torch.tensor(np.random.default_rng(seed).normal(size=shape))


def test_fractional_pools() -> None:
    # Windows of 2 begin at floor((i + u) a) - floor(u a) with a = (5 - 2) / (3 - 1): for u = 0.5 at 0, 2 and 3.
    x = torch.tensor([[[[5.0, 1.0, 2.0, 4.0, 3.0]]]])
    u = torch.full((1, 1, 2), 0.5)
    y, places = F.fractional_max_pool2d(x, (1, 2), output_size=(1, 3), _random_samples=u, return_indices=True)
    assert y.tolist() == [[[[5.0, 4.0, 4.0]]]]
    assert places.tolist() == [[[[0, 3, 3]]]]
    image, samples = normal(2, 2, 5, 4), torch.rand(2, 2, 2)
    pool: Any = lambda x: F.fractional_max_pool2d(x, 2, output_ratio=0.5, _random_samples=samples)  # noqa: E731
    testing.check(pool, (image,))
    assert nn.FractionalMaxPool3d(2, output_size=2)(normal(3, 4, 5, 6)).shape == (3, 2, 2, 2)
    with pytest.raises(ValueError, match="exactly one of output_size and output_ratio"):
        nn.FractionalMaxPool2d(2)
    with pytest.raises(ValueError, match=r"pool .* too large relative to input .* do not fit"):
        F.fractional_max_pool2d(x, 3, output_size=1)
    with pytest.raises(ValueError, match="pool width 2 too large relative to input width 3, into which 3 windows"):
        F.fractional_max_pool2d(normal(1, 1, 4, 3), 2, output_size=(2, 3))


def test_adaptive_softmax() -> None:
    layer = nn.AdaptiveLogSoftmaxWithLoss(16, 20, cutoffs=[5, 10, 15], div_value=2.0).double()
    x, target = normal(8, 16), torch.tensor([0, 3, 5, 9, 10, 14, 15, 19])
    found = layer(x, target)
    logs = layer.log_prob(x)
    np.testing.assert_allclose(logs.exp().sum(1).detach().numpy(), np.ones(8), rtol=1e-12)
    np.testing.assert_allclose(found.output.detach().numpy(), logs.detach().numpy()[np.arange(8), target.numpy()])
    assert found.loss.item() == pytest.approx(-found.output.mean().item())
    assert layer.predict(x).tolist() == logs.argmax(1).tolist()
    assert layer(x[0], target[0]).output.shape == ()
    found.loss.backward()
    assert all(p.grad is not None for p in layer.parameters())
    with pytest.raises(RuntimeError, match="Target values should be in"):
        layer(x[:1], torch.tensor([20]))
    with pytest.raises(ValueError, match="unique, positive integers"):
        nn.AdaptiveLogSoftmaxWithLoss(4, 5, cutoffs=[3, 2])


def test_ctc_layer() -> None:
    scores = torch.log_softmax(normal(4, 1, 3), 2)
    found = nn.CTCLoss(reduction="sum")(scores, torch.tensor([[1, 2]]), torch.tensor([4]), torch.tensor([2]))
    assert type(found) is torch.Tensor
    assert found.item() == F.ctc_loss(scores, torch.tensor([[1, 2]]), (4,), (2,), reduction="sum").item()


def test_hooks_of_all_modules() -> None:
    seen: list[Any] = []

    def note(kind: str) -> Any:
        return lambda module, *values: seen.append((kind, type(module).__name__))

    with (
        hooks.register_module_forward_pre_hook(note("before")),
        hooks.register_module_forward_hook(note("after")),
        hooks.register_module_full_backward_hook(note("backward")),
        hooks.register_module_full_backward_pre_hook(note("first")),
    ):
        nn.Sequential(nn.ReLU())(torch.ones(1, requires_grad=True)).sum().backward()
        with pytest.raises(RuntimeError, match="Cannot use both"):
            hooks.register_module_backward_hook(note("old"))
    assert seen == [
        ("before", "Sequential"),
        ("before", "ReLU"),
        ("after", "ReLU"),
        ("after", "Sequential"),
        ("first", "Sequential"),
        ("first", "ReLU"),
        ("backward", "ReLU"),
        ("backward", "Sequential"),
    ]
    with hooks.register_module_forward_hook(lambda m, a, named, y: y * named["input"], with_kwargs=True):
        assert nn.Identity()(input=torch.full((1,), 3.0)).item() == 9
    with hooks.register_module_parameter_registration_hook(lambda m, name, p: nn.Parameter(p * 0)):
        layer = nn.Linear(1, 1)
    assert nn.Linear(1, 1).weight.item() != 0
    layer.bias = nn.Parameter(torch.ones(1))
    assert layer.bias.item() == 1
    with hooks.register_module_buffer_registration_hook(note("buffer")):
        nn.BatchNorm1d(1)
    with hooks.register_module_module_registration_hook(note("module")):
        nn.Sequential(nn.ReLU()).added = nn.ReLU()
    assert [kind for kind, _ in seen[8:]] == ["buffer"] * 3 + ["module"] * 2


def test_losses_of_targets_of_another_size() -> None:
    x, y = normal(3, 1), normal(3)
    for loss in (F.mse_loss, F.l1_loss, F.smooth_l1_loss, F.huber_loss):
        with pytest.warns(UserWarning, match="different to the input size") as caught:
            assert loss(x, y, reduction="none").shape == (3, 3)
        assert caught[0].filename == __file__
    for loss in (F.mse_loss, F.l1_loss, F.huber_loss):
        with pytest.raises(ValueError, match="Weights and input must have the same size"):
            loss(x, x, weight=y)
    for loss in (F.binary_cross_entropy, F.binary_cross_entropy_with_logits):
        with pytest.raises(ValueError, match="must be the same as input size"):
            loss(torch.sigmoid(x), torch.sigmoid(y))
    with pytest.raises(ValueError, match=r"Using a target size \("):
        F.binary_cross_entropy(torch.sigmoid(x), torch.sigmoid(y))
    with pytest.raises(ValueError, match="1D target tensor expected"):
        F.cosine_embedding_loss(normal(5, 2), normal(5, 2), normal(5, 1))
    with pytest.raises(ValueError, match="output_ratio to either be a single Int or tuple of Ints"):
        F.fractional_max_pool2d(normal(1, 1, 6, 6), 2, output_ratio=(0.5, 0.5, 0.5))
    with pytest.raises(RuntimeError, match=r"The total norm of order 1\.0 for gradients"):
        torch.nn.utils.get_total_norm([normal(2) * np.inf], 1, error_if_nonfinite=True)
    assert [m(3)._get_no_batch_dim() for m in (torch.nn.InstanceNorm1d, torch.nn.InstanceNorm3d)] == [2, 4]


def test_losses_with_a_weight_for_each_element() -> None:
    x, y, w = normal(4), normal(4, seed=1), torch.rand(4, dtype=torch.float64)
    for loss, power in ((F.mse_loss, 2), (F.l1_loss, 1)):
        each = (x - y).abs() ** power * w
        torch.testing.assert_close(loss(x, y, reduction="none", weight=w), each)
        torch.testing.assert_close(loss(x, y, reduction="sum", weight=w), each.sum())
        torch.testing.assert_close(loss(x, y, weight=w), each.sum() / w.sum())
        with pytest.raises(ValueError, match="same size"):
            loss(x, y, weight=w[:1])


def test_layers_at_their_limits() -> None:
    pool = nn.FractionalMaxPool2d(2, output_ratio=0.5, _random_samples=torch.rand(2, 2, 2))
    assert list(pool.state_dict()) == ["_random_samples"]
    norm = nn.BatchNorm1d(2)
    assert norm(torch.ones(0, 2, 3)).shape == (0, 2, 3)
    assert norm.running_mean.tolist() == [0.0, 0.0]
    assert nn.GRUCell(2, 0)(torch.ones(3, 2)).shape == (3, 0)
    with pytest.raises(RuntimeError, match=r"hidden of shape \[3, 4\], got \[1, 4\]"):
        nn.LSTMCell(2, 4)(torch.ones(3, 2), (torch.ones(1, 4), torch.ones(1, 4)))
    with pytest.raises(RuntimeError, match="upscale_factor is 0"):
        nn.PixelShuffle(0)(torch.ones(1, 4, 2, 2))


def test_fractional_pools_of_no_images() -> None:
    for x, pool in (
        (torch.ones(0, 2, 5, 5), F.fractional_max_pool2d),
        (torch.ones(0, 2, 5, 5, 5), F.fractional_max_pool3d),
    ):
        assert pool(x, 2, output_size=2).shape == (0, 2, *[2] * (x.ndim - 2))


def test_bags_are_tensors_of_the_dialect() -> None:
    weight = normal(4, 3).requires_grad_()
    for mode in ("sum", "mean", "max"):
        bags = F.embedding_bag(torch.tensor([1, 2, 1]), weight, torch.tensor([0, 2, 2]), mode=mode, padding_idx=1)
        assert type(bags) is torch.Tensor
        # A bag that has only padding, or nothing, is zero.
        assert bags.tolist() == [weight[2].tolist(), [0.0] * 3, [0.0] * 3]


def test_switches_of_cudnn_decorate() -> None:
    @torch.backends.cudnn.flags(enabled=True, benchmark=False)
    def double(x: int) -> int:
        return 2 * x

    assert double(3) == 6


@pytest.mark.parametrize("axes", [1, 2, 3])
def test_gradients_of_convolutions_as_functions(axes: int) -> None:
    convolution = getattr(F, f"conv{axes}d")
    options = {"stride": 2, "padding": 1, "dilation": 1, "groups": 2}
    x, w = normal(2, 4, *[6] * axes).requires_grad_(), normal(6, 2, *[3] * axes, seed=1).requires_grad_()
    y = convolution(x, w, **options)
    g = normal(*y.shape, seed=2)
    dx, dw = torch.autograd.grad(y, [x, w], g)
    by_input, by_weight = (getattr(nn.grad, f"conv{axes}d_{name}") for name in ("input", "weight"))
    with torch.no_grad():
        assert torch.equal(by_input(x.shape, w, g, **options), dx)
        assert torch.equal(by_weight(x, w.shape, g, **options), dw)
    assert not by_input(x.shape, w.detach(), g, **options).requires_grad
    if axes == 1:
        assert torch.autograd.gradcheck(lambda w, g: by_input(x.shape, w, g, **options), [w, g.requires_grad_()])


def test_classes_below_zero() -> None:
    x, last = normal(3, 2), torch.tensor([0, -1, 1])
    for loss in (F.cross_entropy, F.nll_loss, F.multi_margin_loss):
        with pytest.raises(IndexError, match="-1"):
            loss(x, last)


def test_norms_without_statistics_need_no_number_of_channels() -> None:
    x = torch.rand(1, 2, 3, 3)
    with pytest.warns(UserWarning, match="num_features"):
        y = torch.nn.InstanceNorm2d(None)(x)
    assert y.tolist() == torch.nn.InstanceNorm2d(2)(x).tolist()
    with pytest.raises(ValueError, match="num_features is an integer"):
        torch.nn.InstanceNorm2d(None, affine=True)
