"""Functions of ``torch.nn.functional`` as the namespace itself has them.

Arguments come in another order there, and numbers stand for names: the reduction 0 is "none", 1 "mean" and 2 "sum".
Without one losses are not reduced, as in PyTorch. The functions whose names the core has, too, are in ``_layers``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ferrograd._core import ArgumentError, DtypeError, ShapeError
from ferrograd._distributions import _draws
from ferrograd._functions import embedding as _embedding
from ferrograd._kit import arguments as _arguments
from ferrograd._kit.ops import ops
from ferrograd.torch._base.generator import drawing
from ferrograd.torch._tensor import Tensor
from ferrograd.torch.nn import functional
from ferrograd.torch.nn._functional import dropout
from ferrograd.torch.nn._functional.embedding import _constant
from ferrograd.torch.nn._functional.pools import adaptive_max_pool1d_with_indices
from ferrograd.torch.nn._functional.root_norms import named, reduction_of

__all__ = [
    "adaptive_max_pool1d",
    "affine_grid_generator",
    "alpha_dropout_",
    "cosine_embedding_loss",
    "ctc_loss",
    "dropout_",
    "embedding",
    "embedding_bag",
    "embedding_renorm_",
    "feature_alpha_dropout",
    "feature_alpha_dropout_",
    "feature_dropout",
    "feature_dropout_",
    "grid_sampler",
    "grid_sampler_2d",
    "grid_sampler_3d",
    "hinge_embedding_loss",
    "instance_norm",
    "margin_ranking_loss",
    "native_channel_shuffle",
    "norm_except_dim",
    "poisson_nll_loss",
    "resize_as_",
    "rrelu_",
    "triplet_margin_loss",
]


def adaptive_max_pool1d(input: Tensor, output_size: Any) -> tuple[Tensor, Tensor]:
    """The maxima over ``output_size`` nearly equal parts of sequences, and their indices.

    >>> import ferrograd.torch as torch
    >>> [y.tolist() for y in torch.adaptive_max_pool1d(torch.tensor([[1.0, 3.0, 2.0, 0.0]]), 2)]
    [[[3.0, 2.0]], [[1, 2]]]
    """
    return adaptive_max_pool1d_with_indices(input, output_size)


def ctc_loss(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Any,
    target_lengths: Any,
    blank: int = 0,
    reduction: int = 0,
    zero_infinity: bool = False,
) -> Tensor:
    """:func:`ferrograd.torch.nn.functional.ctc_loss` with a number for the reduction."""
    how = reduction_of("ctc_loss", reduction)
    return functional.ctc_loss(log_probs, targets, input_lengths, target_lengths, blank, how, zero_infinity)


def cosine_embedding_loss(
    input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0, reduction: int = 0
) -> Tensor:
    """:func:`ferrograd.torch.nn.functional.cosine_embedding_loss` with a number for the reduction."""
    how = reduction_of("cosine_embedding_loss", reduction)
    return functional.cosine_embedding_loss(input1, input2, target, margin, reduction=how)


def hinge_embedding_loss(input: Tensor, target: Tensor, margin: float = 1.0, reduction: int = 0) -> Tensor:
    """:func:`ferrograd.torch.nn.functional.hinge_embedding_loss` with a number for the reduction."""
    how = reduction_of("hinge_embedding_loss", reduction)
    return functional.hinge_embedding_loss(input, target, margin, reduction=how)


def margin_ranking_loss(
    input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0, reduction: int = 0
) -> Tensor:
    """:func:`ferrograd.torch.nn.functional.margin_ranking_loss` with a number for the reduction."""
    how = reduction_of("margin_ranking_loss", reduction)
    return functional.margin_ranking_loss(input1, input2, target, margin, reduction=how)


def triplet_margin_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    margin: float = 1.0,
    p: float = 2.0,
    eps: float = 1e-6,
    swap: bool = False,
    reduction: int = 0,
) -> Tensor:
    """:func:`ferrograd.torch.nn.functional.triplet_margin_loss` with a number for the reduction."""
    how = reduction_of("triplet_margin_loss", reduction)
    return functional.triplet_margin_loss(anchor, positive, negative, margin, p, eps, swap, reduction=how)


def poisson_nll_loss(input: Tensor, target: Tensor, log_input: bool, full: bool, eps: float, reduction: int) -> Tensor:
    """:func:`ferrograd.torch.nn.functional.poisson_nll_loss` with a number for the reduction."""
    how = reduction_of("poisson_nll_loss", reduction)
    return functional.poisson_nll_loss(input, target, log_input, full, eps=eps, reduction=how)


def embedding(
    weight: Tensor, indices: Tensor, padding_idx: int = -1, scale_grad_by_freq: bool = False, sparse: bool = False
) -> Tensor:
    """The rows of ``weight`` at the indices. The row ``padding_idx`` gets no gradient; -1 stands for none."""
    padding = None if padding_idx < 0 else padding_idx
    return functional.embedding(indices, weight, padding, scale_grad_by_freq=scale_grad_by_freq, sparse=sparse)


def embedding_bag(
    weight: Tensor,
    indices: Tensor,
    offsets: Tensor,
    scale_grad_by_freq: bool = False,
    mode: int = 0,
    sparse: bool = False,
    per_sample_weights: Tensor | None = None,
    include_last_offset: bool = False,
    padding_idx: int | None = None,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """The sum (mode 0), mean (1) or maximum (2) of the rows of ``weight`` in each bag of indices, and three tables.

    The tables are the bag of each index, the number of indices in each bag without ``padding_idx``, and by bag the
    index whose row has the maximum, for the other modes the number of indices again.
    """
    how = named("embedding_bag", "mode", ("sum", "mean", "max"), mode)
    rest = (per_sample_weights, include_last_offset, padding_idx)
    bags = functional.embedding_bag(indices, weight, offsets, None, 2, scale_grad_by_freq, how, sparse, *rest)
    places, count = indices.detach().numpy(), bags.shape[0]
    bag_of = np.searchsorted(offsets.detach().numpy()[:count], np.arange(len(places)), side="right") - 1
    kept = np.ones(len(places), bool) if padding_idx is None else places != padding_idx % weight.shape[0]
    counts = np.bincount(bag_of[kept], minlength=count)
    greatest: Any = counts
    if how == "max":
        rows = weight.detach().numpy()
        greatest = np.zeros((count, rows.shape[1]), np.int64)
        for bag in np.flatnonzero(counts):
            inside = places[kept & (bag_of == bag)]
            greatest[bag] = inside[rows[inside].argmax(0)]
    tables = (_constant(np.asarray(table, np.int64)) for table in (bag_of, counts, greatest))
    return bags, *tables  # type: ignore[return-value]


def embedding_renorm_(input: Tensor, indices: Tensor, max_norm: float, norm_type: float) -> Tensor:
    """Scales the rows at the indices, in place, so that their norms are at most ``max_norm``."""
    _embedding.check_indices(_arguments.tensor(indices, "embedding_renorm_", "indices"))
    _embedding.renormalize(_arguments.tensor(input, "embedding_renorm_", "input"), indices, max_norm, norm_type)
    return input


def instance_norm(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    use_input_stats: bool,
    momentum: float,
    eps: float,
    cudnn_enabled: bool,
) -> Tensor:
    """:func:`ferrograd.torch.nn.functional.instance_norm` with the weight first."""
    running = (running_mean, running_var)
    return functional.instance_norm(input, *running, weight, bias, use_input_stats, momentum, eps)


def dropout_(input: Tensor, p: float, train: bool) -> Tensor:
    """:func:`ferrograd.torch.nn.functional.dropout` in place."""
    return functional.dropout(input, p, train, inplace=True)


def feature_dropout(input: Tensor, p: float, train: bool) -> Tensor:
    """In training sets whole channels to zero with probability ``p`` and divides the others by ``1 - p``."""
    return dropout.feature_dropout(input, p, train)


def feature_dropout_(input: Tensor, p: float, train: bool) -> Tensor:
    """:func:`feature_dropout` in place."""
    return dropout.feature_dropout(input, p, train, inplace=True)


def alpha_dropout_(input: Tensor, p: float, train: bool) -> Tensor:
    """:func:`ferrograd.torch.nn.functional.alpha_dropout` in place."""
    return functional.alpha_dropout(input, p, train, inplace=True)


def feature_alpha_dropout(input: Tensor, p: float, train: bool) -> Tensor:
    """:func:`ferrograd.torch.nn.functional.feature_alpha_dropout`."""
    return functional.feature_alpha_dropout(input, p, train)


def feature_alpha_dropout_(input: Tensor, p: float, train: bool) -> Tensor:
    """:func:`ferrograd.torch.nn.functional.feature_alpha_dropout` in place."""
    return functional.feature_alpha_dropout(input, p, train, inplace=True)


def rrelu_(input: Tensor, lower: float = 0.125, upper: float = 1 / 3, training: bool = False) -> Tensor:
    """:func:`ferrograd.torch.nn.functional.rrelu` in place."""
    return functional.rrelu(input, lower, upper, training, inplace=True)


def grid_sampler(
    input: Tensor, grid: Tensor, interpolation_mode: int, padding_mode: int, align_corners: bool
) -> Tensor:
    """:func:`ferrograd.torch.nn.functional.grid_sample` with numbers for the modes.

    The interpolation is 0 ("bilinear"), 1 ("nearest") or 2 ("bicubic"), the padding 0 ("zeros"), 1 ("border") or 2
    ("reflection").
    """
    mode = named("grid_sampler", "interpolation_mode", ("bilinear", "nearest", "bicubic"), interpolation_mode)
    padding = named("grid_sampler", "padding_mode", ("zeros", "border", "reflection"), padding_mode)
    return functional.grid_sample(input, grid, mode, padding, align_corners)


grid_sampler_2d = grid_sampler_3d = grid_sampler


def _standard_gamma(input: Tensor, generator: Any = None) -> Any:
    """Gamma variables of rate 1, one for each concentration, with their implicit gradients."""
    concentration = _arguments.tensor(input, "_standard_gamma", "input")
    with drawing(generator, "_standard_gamma"):
        return _draws.standard_gamma(concentration)


def _sample_dirichlet(input: Tensor, generator: Any = None) -> Any:
    """Points of a simplex, one for each vector of concentrations, with their implicit gradients."""
    concentration = _arguments.tensor(input, "_sample_dirichlet", "input")
    with drawing(generator, "_sample_dirichlet"):
        return _draws.dirichlet(concentration)


def _masked_softmax(input: Tensor, mask: Tensor, dim: int | None = None, mask_type: int | None = None) -> Tensor:
    """Softmax over the elements that a mask does not hide, by default along the last axis; NaN where all are hidden.

    The mask has the shape of the input (``mask_type`` 2, the default). It may have that of the last two axes of scores
    [batch, heads, queries, keys] too (0), or [batch, keys] (1).
    """
    x, hidden = _arguments.tensor(input, "_masked_softmax", "input"), _arguments.tensor(mask, "_masked_softmax", "mask")
    if hidden.dtype.kind != "b":
        raise DtypeError(f"_masked_softmax: Mask should be a boolean tensor, not {hidden.dtype}")
    kind, shape = 2 if mask_type is None else mask_type, tuple(x.shape)
    if kind not in (0, 1, 2):
        raise ArgumentError(
            "_masked_softmax: Mask Type should be 0 (src_mask) or 1 (src_key_padding_mask), or 2 (default_mask), not "
            f"{kind}"
        )
    wanted = (shape[0], shape[-1]) if kind == 1 else shape[-2:] if kind == 0 and x.ndim == 4 else shape
    if tuple(hidden.shape) not in (wanted, shape):
        raise ShapeError(f"_masked_softmax: For mask_type == {kind} mask shape should be {wanted}, not {hidden.shape}")
    if kind == 1 and tuple(hidden.shape) != shape:
        hidden = ops.reshape(hidden, [shape[0], *[1] * (x.ndim - 2), shape[-1]])
    axis = x.ndim - 1 if dim is None else dim
    return functional.softmax(ops.masked_fill(x, hidden, float("-inf")), axis)


def _softmax(input: Tensor, dim: int, half_to_float: bool) -> Tensor:
    """Softmax along an axis, in float32 if asked for."""
    return functional.softmax(input, dim, dtype="float32" if half_to_float else None)


def _log_softmax(input: Tensor, dim: int, half_to_float: bool) -> Tensor:
    """The logarithm of softmax along an axis, in float32 if asked for."""
    return functional.log_softmax(input, dim, dtype="float32" if half_to_float else None)


def _add_relu(input: Tensor, other: Any, *, alpha: float = 1) -> Tensor:
    """``relu(input + alpha * other)``."""
    found: Tensor = ops.relu(_arguments.tensor(input, "_add_relu", "input") + other * alpha)
    return found


def affine_grid_generator(theta: Tensor, size: Any, align_corners: bool) -> Tensor:
    """:func:`ferrograd.torch.nn.functional.affine_grid`."""
    return functional.affine_grid(theta, size, align_corners)


def native_channel_shuffle(input: Tensor, groups: int) -> Tensor:
    """:func:`ferrograd.torch.nn.functional.channel_shuffle`."""
    return functional.channel_shuffle(input, groups)


def norm_except_dim(v: Tensor, pow: float = 2, dim: int = 0) -> Tensor:
    """The norm over all axes but one, which are kept with size 1; over all axes for ``dim=-1``."""
    v = _arguments.tensor(v, "norm_except_dim", "v")
    if dim == -1:
        return ops.norm(v, pow)
    return ops.norm(v, pow, [axis for axis in range(v.ndim) if axis != dim], True)


def resize_as_(input: Tensor, the_template: Tensor, *, memory_format: Any = None) -> Tensor:
    """Gives the tensor the shape of another one, in place."""
    made: Tensor = _arguments.tensor(input, "resize_as_", "input").resize_as_(the_template, memory_format=memory_format)
    return made
