"""Functions of layers with Paddle's arguments: images read at computed places, paths, labels and their losses."""

from __future__ import annotations

from typing import Any

import numpy as np

from ferrograd import _core
from ferrograd._core import ArgumentError, ShapeError, paddle as ops
from ferrograd._functions import grids, losses
from ferrograd._kit import arguments as _arguments
from ferrograd._kit.dialect import PADDLE
from ferrograd.paddle._tensor import Tensor

__all__ = [
    "affine_grid",
    "ctc_loss",
    "dice_loss",
    "grid_sample",
    "gumbel_softmax",
    "label_smooth",
    "npair_loss",
    "rnnt_loss",
    "sequence_mask",
    "sigmoid_focal_loss",
    "temporal_shift",
    "zeropad2d",
]


def affine_grid(theta: Tensor, out_shape: Any, align_corners: bool = True, name: str | None = None) -> Tensor:
    """The grid for :func:`grid_sample` that maps each place of an output by matrices [batch, n, n + 1]."""
    sizes = _arguments.integers(out_shape, "affine_grid", "out_shape")
    return grids.affine_grid(_arguments.tensor(theta, "affine_grid", "theta"), sizes, align_corners)


def grid_sample(
    x: Tensor,
    grid: Tensor,
    mode: str = "bilinear",
    padding_mode: str = "zeros",
    align_corners: bool = True,
    name: str | None = None,
) -> Tensor:
    """Images [batch, channels, …] read at places [batch, …, axes] in [-1, 1], with the samples around interpolated."""
    x, grid = _arguments.tensor(x, "grid_sample", "x"), _arguments.tensor(grid, "grid_sample", "grid")
    return grids.grid_sample(x, grid, mode, padding_mode, align_corners)


def ctc_loss(
    log_probs: Tensor,
    labels: Tensor,
    input_lengths: Tensor,
    label_lengths: Tensor,
    blank: int = 0,
    reduction: str = "mean",
    norm_by_times: bool = False,
    zero_infinity: bool = False,
) -> Tensor:
    """Minus the logarithm of the probability of all paths to the labels: connectionist temporal classification.

    ``log_probs`` are scores [time, batch, classes], of which the softmax is taken first; the labels are [batch, most].
    ``norm_by_times`` divides the gradient of each sample by its number of steps. With ``zero_infinity`` infinite losses
    count as 0.
    """
    if reduction not in ("mean", "sum", "none"):
        raise ArgumentError(f"ctc_loss: reduction must be 'sum', 'mean' or 'none', not {reduction!r:.60}")
    scores = _arguments.tensor(log_probs, "ctc_loss", "log_probs")
    if norm_by_times:
        steps = ops.reshape(ops.cast(input_lengths, scores.dtype), [1, -1, 1])
        scores = ops.add(ops.divide(scores, steps), (scores - ops.divide(scores, steps)).detach())
    found = losses.ctc_loss(
        ops.log_softmax(scores, 2), labels, input_lengths, label_lengths, blank, "none", zero_infinity
    )
    if reduction == "none":
        return found
    if reduction == "sum":
        return ops.sum(found)
    sizes = np.maximum(label_lengths.detach().numpy().reshape(-1), 1)
    return ops.mean(ops.divide(found, _core.make(sizes, found.dtype, False, PADDLE)))


def rnnt_loss(
    input: Tensor,
    label: Tensor,
    input_lengths: Tensor,
    label_lengths: Tensor,
    blank: int = 0,
    fastemit_lambda: float = 0.001,
    reduction: str = "mean",
    name: str | None = None,
) -> Tensor:
    """Minus the logarithm of the probability of all paths of a transducer to the labels.

    The input are logarithms of probabilities [batch, time, most labels + 1, classes]; the labels are [batch, most].
    ``fastemit_lambda`` adds this share to the gradient of the probabilities of labels.
    """
    return losses.rnnt_loss(input, label, input_lengths, label_lengths, blank, fastemit_lambda, reduction)


def gumbel_softmax(
    x: Tensor, temperature: float = 1.0, hard: bool = False, axis: int = -1, name: str | None = None
) -> Tensor:
    """Random points near the corners of a simplex; with ``hard`` the corners, with the gradient of the points."""
    x = _arguments.tensor(x, "gumbel_softmax", "x")
    tiny = float(np.finfo(np.float32).tiny)
    noise = ops.cast(-ops.log(-ops.log(ops.uniform(tiny, 1.0, list(x.shape)))), x.dtype)
    soft = ops.softmax((x + noise) / temperature, axis)
    if not hard:
        return soft
    top = ops.amax(soft.detach(), axis, True)
    return ops.add(ops.cast(ops.equal(soft.detach(), top), x.dtype), soft - soft.detach())


def sequence_mask(x: Tensor, maxlen: int | None = None, dtype: Any = "int64", name: str | None = None) -> Tensor:
    """For each length ones at the places below it, then zeros: [..., maxlen]."""
    lengths = _arguments.tensor(x, "sequence_mask", "x").detach()
    most = -1 if maxlen is None else _arguments.integer(maxlen, "sequence_mask", "maxlen")
    if most < 0:
        most = max(0, int(ops.max(lengths).item())) if lengths.numel() else 0
    return ops.less_than(ops.arange(most), ops.expand_dims(lengths, -1)).astype(dtype)


def label_smooth(
    label: Tensor, prior_dist: Tensor | None = None, epsilon: float = 0.1, name: str | None = None
) -> Tensor:
    """``(1 - epsilon) * label`` plus ``epsilon`` times the prior distribution, by default the uniform one."""
    sizes = _arguments.tensor(label, "label_smooth", "label").shape
    if not sizes:
        raise ShapeError("label_smooth: label must have at least one axis")
    if not 0.0 <= epsilon <= 1.0:
        raise ArgumentError("The value of epsilon must be between 0 and 1.")
    if prior_dist is None:
        return label * (1 - epsilon) + epsilon / max(sizes[-1], 1)
    return label * (1 - epsilon) + epsilon * prior_dist


def zeropad2d(x: Tensor, padding: Any, data_format: str = "NCHW", name: str | None = None) -> Tensor:
    """Images with zeros around them: ``padding`` is [left, right, top, bottom]."""
    left, right, top, bottom = _arguments.integers(padding, "zeropad2d", "padding")
    if data_format not in ("NCHW", "NHWC"):
        raise ArgumentError(f"zeropad2d: data_format must be 'NCHW' or 'NHWC', not {data_format!r:.60}")
    rows, columns = (top, bottom), (left, right)
    widths = [(0, 0), (0, 0), rows, columns] if data_format == "NCHW" else [(0, 0), rows, columns, (0, 0)]
    found: Tensor = _core.native.pad(_arguments.tensor(x, "zeropad2d", "x"), widths)
    return found


def temporal_shift(
    x: Tensor, seg_num: int, shift_ratio: float = 0.25, name: str | None = None, data_format: str = "NCHW"
) -> Tensor:
    """A share of the channels of each frame moved to the next frame, another share to the one before."""
    if data_format not in ("NCHW", "NHWC"):
        raise ArgumentError(f"temporal_shift: data_format must be 'NCHW' or 'NHWC', not {data_format!r:.60}")
    shape = _arguments.tensor(x, "temporal_shift", "x").shape
    count = _arguments.integer(seg_num, "temporal_shift", "seg_num")
    if len(shape) != 4 or count < 1 or shape[0] % count:
        raise ShapeError(
            f"temporal_shift: x must be [frames, channels, height, width] with a multiple of seg_num, {count}, frames, "
            f"got shape {list(shape)}"
        )
    last = data_format == "NHWC"
    frames = ops.transpose(x, [0, 3, 1, 2]) if last else x
    n, c, h, w = frames.shape
    clips = ops.reshape(frames, [n // count, count, c, h, w])
    first, second = int(c * shift_ratio), int(c * 2 * shift_ratio)
    gap = ops.zeros_like(clips[:, :1])
    later = ops.concat([gap, clips[:, :-1]], 1)[:, :, :first]
    earlier = ops.concat([clips[:, 1:], gap], 1)[:, :, first:second]
    found = ops.reshape(ops.concat([later, earlier, clips[:, :, second:]], 2), [n, c, h, w])
    return ops.transpose(found, [0, 2, 3, 1]) if last else found


def sigmoid_focal_loss(
    logit: Tensor,
    label: Tensor,
    normalizer: Tensor | None = None,
    alpha: float = 0.25,
    gamma: float = 2.0,
    reduction: str = "sum",
    name: str | None = None,
) -> Tensor:
    """The binary cross entropy of logits with small weights for easy examples (T. Lin et al., 2017)."""
    if reduction not in ("sum", "mean", "none"):
        raise ArgumentError(f"sigmoid_focal_loss: reduction must be 'sum', 'mean' or 'none', not {reduction!r:.60}")
    entropy = ops.softplus(logit) - logit * label
    p = ops.sigmoid(logit)
    missed = 1 - (p * label + (1 - p) * (1 - label))
    found = (alpha * label + (1 - alpha) * (1 - label)) * missed**gamma * entropy
    if normalizer is not None:
        found = found / normalizer
    return ops.sum(found) if reduction == "sum" else ops.mean(found) if reduction == "mean" else found


def dice_loss(input: Tensor, label: Tensor, epsilon: float = 0.00001, name: str | None = None) -> Tensor:
    """One minus the overlap of probabilities [batch, …, classes] and labels [batch, …, 1], averaged over the batch."""
    input, label = _arguments.tensor(input, "dice_loss", "input"), _arguments.tensor(label, "dice_loss", "label")
    if not input.ndim or label.ndim != input.ndim or label.shape[-1] != 1:
        raise ShapeError(f"dice_loss: labels of shape {list(label.shape)} for inputs of shape {list(input.shape)}")
    places = label.detach().numpy()[..., 0][..., None] == np.arange(input.shape[-1])
    wanted = _core.make(places, input.dtype, False, PADDLE)
    axes = list(range(1, input.ndim))
    inside = ops.sum(input * wanted, axes)
    both = ops.sum(input, axes) + ops.sum(wanted, axes)
    return ops.mean(1 - inside * 2 / (both + epsilon))


def npair_loss(anchor: Tensor, positive: Tensor, labels: Tensor, l2_reg: float = 0.002) -> Tensor:
    """The cross entropy of the products of anchors and positives, and an L2 penalty (K. Sohn, 2016)."""
    anchor = _arguments.tensor(anchor, "npair_loss", "anchor")
    names = _arguments.tensor(labels, "npair_loss", "labels").detach().numpy()
    if names.ndim == 0:
        raise ShapeError("npair_loss: labels must be [batch], got shape []")
    batch = len(names)
    same = names.reshape(-1, 1) == names.reshape(1, -1)
    wanted = _core.make(same / same.sum(1, keepdims=True), anchor.dtype, False, PADDLE)
    penalty = (ops.sum(anchor * anchor) + ops.sum(positive * positive)) / batch * (0.25 * l2_reg)
    logits = ops.matmul(anchor, ops.transpose(positive, [1, 0]))
    cross = -ops.sum(wanted * ops.log_softmax(logits, -1), 1)
    return ops.sum(ops.sum(wanted, 1) * cross) / batch + penalty
