"""Functions of ``paddle.nn.functional`` for images, paths and labels. Numbers are those of Paddle 3.3.1."""

from __future__ import annotations

from typing import Any

import ferrograd.paddle as _paddle
import numpy as np
import pytest
from ferrograd import testing

paddle: Any = _paddle
F: Any = paddle.nn.functional


def normal(*shape: int, seed: int = 0) -> Any:
    return paddle.to_tensor(np.random.default_rng(seed).normal(size=shape), stop_gradient=False)


def test_grids() -> None:
    theta = paddle.to_tensor([[[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]])
    grid = F.affine_grid(theta, [1, 1, 2, 2])
    assert type(grid) is paddle.Tensor
    assert grid.tolist() == [[[[-1.0, -1.0], [1.0, -1.0]], [[-1.0, 1.0], [1.0, 1.0]]]]
    assert F.affine_grid(theta, [1, 1, 2, 2], align_corners=False).max().item() == 0.5
    x = paddle.to_tensor([[[[1.0, 2.0], [3.0, 4.0]]]])
    assert F.grid_sample(x, grid).tolist() == x.tolist()
    assert F.grid_sample(x, grid * 0).tolist() == [[[[2.5, 2.5], [2.5, 2.5]]]]
    testing.check(lambda x, g: F.grid_sample(x, g), (normal(1, 2, 3, 3), normal(1, 2, 2, 2) * 0.3))


def test_paths() -> None:
    scores = normal(5, 2, 4)
    labels, lengths = paddle.to_tensor([[1, 2], [3, 1]]), (paddle.to_tensor([5, 4]), paddle.to_tensor([2, 2]))
    each = F.ctc_loss(scores, labels, *lengths, reduction="none")
    assert type(each) is paddle.Tensor
    assert F.ctc_loss(scores, labels, *lengths).item() == pytest.approx((each / 2).mean().item())
    assert paddle.nn.CTCLoss(0, "sum")(scores, labels, *lengths).item() == pytest.approx(each.sum().item())
    each.sum().backward()
    whole, scores.grad = scores.grad.numpy(), None
    by_times = F.ctc_loss(scores, labels, *lengths, reduction="sum", norm_by_times=True)
    assert by_times.item() == pytest.approx(each.sum().item())
    by_times.backward()
    np.testing.assert_allclose(scores.grad.numpy(), whole / np.array([5.0, 4.0])[:, None], rtol=1e-12)
    with pytest.raises(ValueError, match="reduction must be"):
        F.ctc_loss(scores, labels, *lengths, reduction="max")


def test_paths_of_transducers() -> None:
    x = F.log_softmax(normal(2, 3, 3, 4)).detach()
    x.stop_gradient = False
    labels, lengths = paddle.to_tensor([[1, 2], [3, 1]]), (paddle.to_tensor([3, 2]), paddle.to_tensor([2, 1]))
    each = F.rnnt_loss(x, labels, *lengths, fastemit_lambda=0.0, reduction="none")
    p = x.numpy()

    def paths(b: int, t: int, u: int, steps: int, word: list[int]) -> float:
        """The probability of all ways from a place to the end."""
        if t == steps:
            return float(u == len(word))
        wait = np.exp(p[b, t, u, 0]) * paths(b, t + 1, u, steps, word)
        return wait if u == len(word) else wait + np.exp(p[b, t, u, word[u]]) * paths(b, t, u + 1, steps, word)

    wanted = [-np.log(paths(0, 0, 0, 3, [1, 2])), -np.log(paths(1, 0, 0, 2, [3]))]
    np.testing.assert_allclose(each.numpy(), wanted, rtol=1e-10)
    assert paddle.nn.RNNTLoss(fastemit_lambda=0.0)(x, labels, *lengths).item() == pytest.approx(np.mean(wanted))
    testing.check(lambda x: F.rnnt_loss(x, labels, *lengths, fastemit_lambda=0.0), (x,))
    (plain,) = paddle.grad(each.sum(), x)
    (more,) = paddle.grad(F.rnnt_loss(x, labels, *lengths, fastemit_lambda=0.5, reduction="sum"), x)
    np.testing.assert_allclose(more[..., 1:].numpy(), 1.5 * plain[..., 1:].numpy())
    np.testing.assert_allclose(more[..., 0].numpy(), plain[..., 0].numpy())
    never = paddle.to_tensor(np.where(np.arange(4) == 0, 0.0, -np.inf) * np.ones((1, 2, 2, 1)), stop_gradient=False)
    impossible = F.rnnt_loss(never, paddle.to_tensor([[1]]), [2], [1])
    assert impossible.item() == np.inf
    assert not np.isnan(paddle.grad(impossible, never)[0].numpy()).any()
    for wrong in (
        (x, labels[:, :1], *lengths),
        (x, labels, [4, 1], [2, 1]),
        (x, labels, [0, 1], [2, 1]),
        (x, labels, [3, 2], [3, 1]),
    ):
        with pytest.raises(ValueError, match="rnnt_loss"):
            F.rnnt_loss(*wrong)
    with pytest.raises(ValueError, match="rnnt_loss"):
        F.rnnt_loss(x, labels, *lengths, blank=4)


def test_labels() -> None:
    assert F.sequence_mask(paddle.to_tensor([1, 3, 0])).tolist() == [[1, 0, 0], [1, 1, 1], [0, 0, 0]]
    assert F.sequence_mask(paddle.to_tensor([1]), 2, "float32").tolist() == [[1.0, 0.0]]
    smooth = F.label_smooth(paddle.to_tensor([[0.0, 1.0]]), epsilon=0.2)
    np.testing.assert_allclose(smooth.numpy(), [[0.1, 0.9]], rtol=1e-6)
    prior = paddle.to_tensor([[1.0, 0.0]])
    np.testing.assert_allclose(F.label_smooth(paddle.to_tensor([[0.0, 1.0]]), prior, 0.2).numpy(), [[0.2, 0.8]])
    hard = F.gumbel_softmax(normal(50, 3), hard=True)
    assert sorted(set(hard.numpy().ravel().round(12).tolist())) == [0.0, 1.0]
    assert hard.sum(-1).tolist() == pytest.approx([1.0] * 50)
    half = F.gumbel_softmax(normal(50, 3).astype("bfloat16"))
    assert half.dtype == paddle.bfloat16
    assert half.sum(-1).tolist() == pytest.approx([1.0] * 50, abs=0.02)
    soft = normal(2, 3)
    F.gumbel_softmax(soft, 0.5).square().sum().backward()
    np.testing.assert_allclose(soft.grad.sum(-1).numpy(), [0, 0], atol=1e-12)


def test_losses_and_images() -> None:
    y = paddle.to_tensor([[0.0, 1.0], [1.0, 1.0]])
    testing.check(lambda z: F.sigmoid_focal_loss(z, y.astype("float64")), (normal(2, 2),))
    easy = F.sigmoid_focal_loss(paddle.to_tensor([[-9.0, 9.0], [9.0, 9.0]]), y, reduction="mean")
    assert 0 <= easy.item() < 1e-9
    labels = paddle.to_tensor([[[0], [1]]])
    assert F.dice_loss(paddle.to_tensor([[[1.0, 0.0], [0.0, 1.0]]]), labels).item() == pytest.approx(0, abs=1e-5)
    testing.check(lambda z: F.dice_loss(F.softmax(z), labels), (normal(1, 2, 2),))
    groups = paddle.to_tensor([0, 1, 0])
    testing.check(lambda a, b: F.npair_loss(a, b, groups), (normal(3, 2), normal(3, 2, seed=1)))
    image = paddle.to_tensor([[[[1.0]]]])
    assert F.zeropad2d(image, [1, 0, 0, 1]).tolist() == [[[[0.0, 1.0], [0.0, 0.0]]]]
    assert F.zeropad2d(image, [1, 0, 0, 0], "NHWC").shape == [1, 1, 2, 1]
    frames = paddle.arange(12.0).reshape([3, 4, 1, 1])
    assert F.temporal_shift(frames, 3).numpy()[:, :, 0, 0].tolist() == [[0, 5, 2, 3], [0, 9, 6, 7], [4, 0, 10, 11]]
