"""Functions of nn.functional that torch's own namespace has with other arguments."""

from __future__ import annotations

from typing import Any

import ferrograd.torch as _torch
import numpy as np
import pytest

torch: Any = _torch
F: Any = torch.nn.functional
REDUCTIONS = ["none", "mean", "sum"]


def normal(*shape: int, seed: int = 0) -> Any:
    return torch.tensor(np.random.default_rng(seed).standard_normal(shape))


def same(a: Any, b: Any) -> None:
    assert a.dtype == b.dtype
    np.testing.assert_array_equal(a.detach().numpy(), b.detach().numpy(), strict=True)


A, B, C = normal(3, 4), normal(3, 4, seed=1), normal(3, 4, seed=2)
SIGNS = torch.tensor([1.0, -1.0, 1.0], dtype=torch.float64)
SCORES, TARGETS = torch.log_softmax(normal(6, 2, 4), 2), torch.tensor([[1, 2], [3, 3]])
LOSSES: dict[str, Any] = {
    "ctc_loss": (
        lambda r: torch.ctc_loss(SCORES, TARGETS, (6, 6), (2, 1), 0, r),
        lambda r: F.ctc_loss(SCORES, TARGETS, (6, 6), (2, 1), 0, r),
    ),
    "cosine_embedding_loss": (
        lambda r: torch.cosine_embedding_loss(A, B, SIGNS, 0.1, r),
        lambda r: F.cosine_embedding_loss(A, B, SIGNS, 0.1, reduction=r),
    ),
    "hinge_embedding_loss": (
        lambda r: torch.hinge_embedding_loss(A, torch.sign(B), 0.5, r),
        lambda r: F.hinge_embedding_loss(A, torch.sign(B), 0.5, reduction=r),
    ),
    "margin_ranking_loss": (
        lambda r: torch.margin_ranking_loss(A[:, 0], B[:, 0], SIGNS, 0.1, r),
        lambda r: F.margin_ranking_loss(A[:, 0], B[:, 0], SIGNS, 0.1, reduction=r),
    ),
    "triplet_margin_loss": (
        lambda r: torch.triplet_margin_loss(A, B, C, 1.0, 3.0, 1e-6, True, r),
        lambda r: F.triplet_margin_loss(A, B, C, 1.0, 3.0, 1e-6, True, reduction=r),
    ),
    "poisson_nll_loss": (
        lambda r: torch.poisson_nll_loss(A, B.abs(), True, True, 1e-8, r),
        lambda r: F.poisson_nll_loss(A, B.abs(), True, True, reduction=r),
    ),
}


@pytest.mark.parametrize("name", LOSSES)
def test_losses_take_numbers_for_reductions(name: str) -> None:
    function, named = LOSSES[name]
    for number, reduction in enumerate(REDUCTIONS):
        same(function(number), named(reduction))
    assert function(0).ndim == 1 or name in ("hinge_embedding_loss", "poisson_nll_loss")
    for bad in (3, -1, "mean", True):
        with pytest.raises(ValueError, match="reduction is one of 0"):
            function(bad)


def test_embedding_takes_the_weight_first() -> None:
    weight, index = normal(6, 2).requires_grad_(), torch.tensor([[1, 2], [4, 2]])
    same(torch.embedding(weight, index), F.embedding(index, weight))
    torch.embedding(weight, index, 2).sum().backward()
    assert weight.grad[2].tolist() == [0, 0]
    assert weight.grad[4].tolist() == [1, 1]
    torch.embedding_renorm_(weight.detach(), index, 0.5, 2.0)
    assert torch.linalg.vector_norm(weight[1]).item() <= 0.5


def test_embedding_bag_has_tables() -> None:
    weight = torch.tensor([[0.0, 9], [5, 1], [2, 3], [7, 0]], requires_grad=True)
    index, offsets = torch.tensor([1, 2, 3, 1]), torch.tensor([0, 2, 2])
    for mode, name in enumerate(("sum", "mean", "max")):
        bags, bag_of, sizes, greatest = torch.embedding_bag(weight, index, offsets, False, mode)
        same(bags, F.embedding_bag(index, weight, offsets, mode=name))
        assert bag_of.tolist() == [0, 0, 2, 2]
        assert sizes.tolist() == [2, 0, 2]
        assert greatest.tolist() == ([[1, 2], [0, 0], [3, 1]] if name == "max" else [2, 0, 2])
    bags.sum().backward()
    assert weight.grad.tolist() == [[0, 0], [1, 1], [0, 1], [1, 0]]
    _, _, sizes, greatest = torch.embedding_bag(weight, index, offsets, False, 2, False, None, False, 1)
    assert (sizes.tolist(), greatest.tolist()) == ([1, 0, 1], [[2, 2], [0, 0], [3, 3]])
    ends = torch.tensor([0, 2, 4])
    assert torch.embedding_bag(weight, index, ends, include_last_offset=True)[2].tolist() == [2, 2]
    assert torch.embedding_bag(weight, index[:0], ends[:0], False, 2)[3].shape == (0, 2)
    with pytest.raises(ValueError, match="mode is one of 0"):
        torch.embedding_bag(weight, index, offsets, False, "mean")


def test_layers_with_other_arguments() -> None:
    x, scale, shift = normal(2, 3, 4), normal(3), normal(3, seed=1)
    norm = torch.instance_norm(x, scale, shift, None, None, True, 0.1, 1e-5, False)
    same(norm, F.instance_norm(x, None, None, scale, shift))
    running, other = (
        [torch.zeros(3).double(), torch.ones(3).double()],
        [torch.zeros(3).double(), torch.ones(3).double()],
    )
    norm = torch.batch_norm(x, scale, shift, *running, True, 0.2, 1e-5, False)
    same(norm, F.batch_norm(x, *other, scale, shift, True, 0.2))
    same(running[0], other[0])
    same(running[1], other[1])
    image, grid = normal(1, 2, 4, 5), normal(1, 3, 3, 2)
    for i, mode in enumerate(("bilinear", "nearest", "bicubic")):
        for j, padding in enumerate(("zeros", "border", "reflection")):
            same(torch.grid_sampler(image, grid, i, j, True), F.grid_sample(image, grid, mode, padding, True))
    theta = normal(1, 2, 3)
    same(torch.affine_grid_generator(theta, (1, 2, 3, 3), False), F.affine_grid(theta, (1, 2, 3, 3), False))
    same(torch.native_channel_shuffle(normal(1, 4, 3), 2), F.channel_shuffle(normal(1, 4, 3), 2))


def test_a_convolution_over_time_first() -> None:
    x, weight, bias = normal(6, 2, 3), normal(3, 3, 4), normal(4)
    y = torch.conv_tbc(x, weight, bias, 1)
    padded = np.pad(x.numpy(), ((1, 1), (0, 0), (0, 0)))
    wanted = sum(padded[k : k + 6] @ weight.numpy()[k] for k in range(3)) + bias.numpy()
    np.testing.assert_allclose(y.numpy(), wanted, atol=1e-12)


def test_norm_except_dim() -> None:
    x = normal(2, 3, 4)
    for dim, axes in ((0, (1, 2)), (2, (0, 1)), (-1, (0, 1, 2))):
        wanted = np.sqrt((x.numpy() ** 2).sum(axes, keepdims=dim != -1))
        np.testing.assert_allclose(torch.norm_except_dim(x, 2, dim).numpy(), wanted, rtol=1e-12)


def test_forms_in_place() -> None:
    for name in ("dropout_", "alpha_dropout_", "feature_dropout_", "feature_alpha_dropout_"):
        x = torch.ones(2, 3, 4)
        assert getattr(torch, name)(x, 0.5, False).tolist() == torch.ones(2, 3, 4).tolist()
        getattr(torch, name)(x, 1.0, True)
        assert x.tolist() != torch.ones(2, 3, 4).tolist()
    for name in ("feature_dropout", "feature_alpha_dropout"):
        torch.manual_seed(0)
        y = getattr(torch, name)(torch.ones(4, 5, 6), 0.5, True)
        assert (y == y[..., :1]).all()
        assert len(set(y.flatten().tolist())) == 2
    x = torch.tensor([-2.0, 4.0])
    assert torch.rrelu_(x, 0.25, 0.75) is x
    assert x.tolist() == [-1, 4]
    assert torch.resize_as_(x, torch.zeros(1, 2)) is x
    assert x.shape == (1, 2)


def test_histogram_has_the_arguments_of_torch() -> None:
    x = torch.tensor([1.0, 2.0, 2.0, 5.0], requires_grad=True)
    counts = torch.histogram(x, 2)
    assert (counts.hist.tolist(), counts.bin_edges.tolist()) == ([3, 1], [1, 3, 5])
    assert counts.hist.dtype == torch.float32
    weighted = x.histogram(2, range=(0.0, 4.0), weight=torch.tensor([1.0, 2, 3, 4]), density=True)
    np.testing.assert_allclose(weighted.hist.numpy(), [1 / 12, 5 / 12], rtol=1e-6)
    assert torch.histogram(x, torch.tensor([0.0, 2, 5])).hist.tolist() == [1, 3]
    with pytest.raises(ValueError, match="bins is above 0"):
        torch.histogram(x, 0)


def test_functions_as_methods() -> None:
    x = torch.tensor([2.0], requires_grad=True)
    y = x.polygamma(1)
    same(y, torch.polygamma(1, x))
    y.backward()
    same(x.grad, torch.polygamma(2, x.detach()))
    factor, right = torch.tensor([[2.0, 0.0], [1.0, 3.0]]), torch.ones(2, 1)
    same(right.cholesky_solve(factor), torch.cholesky_solve(right, factor))
    q, tau = torch.geqrf(factor)
    same(q.orgqr(tau), torch.orgqr(q, tau))


@pytest.mark.parametrize("axes", [1, 2, 3])
@pytest.mark.parametrize("transposed", [False, True])
def test_convolutions_of_any_number_of_axes_and_their_gradients(axes: int, transposed: bool) -> None:
    x = normal(2, 4, *(5, 3, 2)[:axes]).requires_grad_()
    w, b = normal(4, 2, *(3, 2, 2)[:axes], seed=1).requires_grad_(), normal(4, seed=2).requires_grad_()
    named = {"stride": [2] * axes, "padding": [1] * axes, "dilation": [1] * axes, "groups": 2}
    out = [1] * axes if transposed else [0] * axes
    options = (named["stride"], named["padding"], named["dilation"], transposed, out, 2)
    kind = f"conv_transpose{axes}d" if transposed else f"conv{axes}d"
    y = torch.convolution(x, w, b, *options)
    same(y, getattr(F, kind)(x, w, b, **named, **({"output_padding": out} if transposed else {})))
    g = normal(*y.shape, seed=3).requires_grad_()
    backward = torch.ops.aten.convolution_backward
    found = backward(g, x, w, [4], *options, [True, True, True])
    for a, c in zip(found, torch.autograd.grad(y, (x, w, b), g), strict=True):
        np.testing.assert_allclose(a.detach().numpy(), c.numpy(), atol=1e-12)
    assert backward(g, x, w, [4], *options, [False, True, False])[::2] == (None, None)
    torch.autograd.gradcheck(lambda g, x, w: backward(g, x, w, [4], *options, [True, True, False]), (g, x, w))


def test_a_convolution_wants_a_batch() -> None:
    with pytest.raises(RuntimeError, match="a batch and a weight of 3 to 5 axes are wanted, not 2 and 3"):
        torch.convolution(normal(4, 5), normal(4, 4, 3), None, 1, 0, 1, False, 0, 1)


def test_the_op_of_an_index_takes_one_for_each_axis() -> None:
    x, at = torch.arange(12).reshape(3, 4), torch.tensor([2, 0])
    same(torch.ops.aten.index(x, [at, at]), x[at, at])
    same(torch.ops.aten.index.Tensor(x, [None, at]), x[:, at])
    same(torch.ops.aten.index(x, torch.tensor([1, 2])), x[1, 2])


def test_softmax_of_what_a_mask_does_not_hide() -> None:
    scores, causal = normal(2, 3, 4, 4), torch.ones(4, 4, dtype=torch.bool).triu(1)
    keys = torch.tensor([[False, True, False, False], [True, False, False, True]])
    for mask, kind, spread in ((causal, 0, causal), (keys, 1, keys[:, None, None]), (scores > 1, 2, scores > 1)):
        weights = torch.exp(scores) * ~spread
        found = torch._masked_softmax(scores, mask, 3, kind)
        torch.testing.assert_close(found, weights / weights.sum(3, keepdim=True), equal_nan=True)
    full = keys[:, None, None].expand(2, 3, 4, 4)
    same(torch._masked_softmax(scores, full, 3, 1), torch._masked_softmax(scores, keys, 3, 1))
    same(torch._softmax(scores, 1, False), torch.softmax(scores, 1))
    assert torch._log_softmax(scores.half(), 1, True).dtype == torch.float32
    assert torch._masked_softmax(scores, torch.ones_like(scores, dtype=torch.bool)).isnan().all()
    wrong: list[tuple[str, Any]] = [
        ("should be a boolean tensor", lambda: torch._masked_softmax(scores, keys.float(), 3, 1)),
        ("mask_type == 1 mask shape", lambda: torch._masked_softmax(scores, causal, 3, 1)),
        ("Mask Type should be 0", lambda: torch._masked_softmax(scores, keys, 3, 3)),
    ]
    for text, call in wrong:
        with pytest.raises(RuntimeError, match=text):
            call()
    assert torch._add_relu(torch.tensor([-1.0, 2.0]), torch.tensor([0.5, 1.0]), alpha=2).tolist() == [0, 4]
