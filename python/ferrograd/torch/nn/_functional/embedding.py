"""PyTorch's look-ups in a table of vectors."""

from __future__ import annotations

from typing import Any

import numpy as np

from ferrograd import _core
from ferrograd._core import ArgumentError, DtypeError, IndexOutOfRange, constant as _constant_of, torch as ops
from ferrograd._functions import embedding as _embedding
from ferrograd._functions.half_floats import rounded_once
from ferrograd._kit import arguments as _arguments
from ferrograd.torch._tensor import Tensor

__all__ = ["embedding", "embedding_bag"]


def _constant(values: Any) -> Tensor:
    made: Tensor = _constant_of(np.ascontiguousarray(values))
    return made


def _rows(weight: Tensor, flat: Tensor, padding_idx: int | None, by_frequency: bool) -> Tensor:
    """The rows of the weight at a vector of indices. The row ``padding_idx`` gets no gradient."""
    rows = ops.index_select(weight, 0, flat)
    rows = _embedding.by_frequency(rows, flat, weight.shape[0]) if by_frequency else rows
    if padding_idx is None:
        return rows
    return ops.where(ops.expand_dims(ops.equal(flat, padding_idx), -1), rows.detach(), rows)


def _padding(padding_idx: int | None, count: int, text: str) -> int | None:
    if padding_idx is not None and not -count <= padding_idx < count:
        raise ArgumentError(text)
    return None if padding_idx is None else padding_idx % count


def embedding(
    input: Tensor,
    weight: Tensor,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Tensor:
    """The rows of ``weight`` at the indices ``input``. The row ``padding_idx`` gets no gradient.

    With ``max_norm`` the rows that are used are first scaled in place to at most that norm. With
    ``scale_grad_by_freq`` gradients are divided by the number of times that a row is used. They are dense;
    ``sparse`` changes nothing.
    """
    input, weight = _arguments.tensor(input, "embedding", "input"), _arguments.tensor(weight, "embedding", "weight")
    if weight.ndim != 2:
        raise ArgumentError(f"embedding: 'weight' must be 2-D, not of shape {list(weight.shape)}")
    _embedding.check_indices(input)
    padding = _padding(padding_idx, weight.shape[0], "Padding_idx must be within num_embeddings")
    if max_norm is not None:
        _embedding.renormalize(weight, input, max_norm, norm_type)
    rows = _rows(weight, ops.reshape(input, [-1]), padding, scale_grad_by_freq)
    return ops.reshape(rows, [*input.shape, *weight.shape[1:]])


def embedding_bag(
    input: Tensor,
    weight: Tensor,
    offsets: Tensor | None = None,
    max_norm: float | None = None,
    norm_type: float = 2,
    scale_grad_by_freq: bool = False,
    mode: str = "mean",
    sparse: bool = False,
    per_sample_weights: Tensor | None = None,
    include_last_offset: bool = False,
    padding_idx: int | None = None,
) -> Tensor:
    """The sum, mean or maximum of the rows of ``weight`` in each bag of indices. An empty bag gives zeros.

    A matrix of indices has a bag in each row. A vector is cut into bags at ``offsets``; with ``include_last_offset``
    the last of them is its end. Rows are multiplied by ``per_sample_weights`` for the mode "sum". The index
    ``padding_idx`` is left out.
    """
    input, weight = (
        _arguments.tensor(input, "embedding_bag", "input"),
        _arguments.tensor(weight, "embedding_bag", "weight"),
    )
    if mode not in ("sum", "mean", "max"):
        raise ArgumentError("mode has to be one of sum, mean or max")
    if weight.ndim != 2:
        raise ArgumentError(f"weight has to be a 2D Tensor, but got Tensor of dimension {weight.ndim}")
    if per_sample_weights is not None and mode != "sum":
        raise NotImplementedError(
            "embedding_bag: per_sample_weights was not None. per_sample_weights is only supported for mode='sum' "
            f"(got mode='{mode}')."
        )
    if per_sample_weights is not None and per_sample_weights.shape != input.shape:
        raise ArgumentError(
            f"embedding_bag: If per_sample_weights ({per_sample_weights.shape}) is not None, then it must have the "
            f"same shape as the input ({input.shape})"
        )
    if per_sample_weights is not None and per_sample_weights.dtype != weight.dtype:
        raise DtypeError(
            "embedding_bag: Expected tensor for argument 'weight' to have the same type as per_sample_weights, but "
            f"they are of {weight.dtype} and {per_sample_weights.dtype}"
        )
    starts = _bags(input, offsets, include_last_offset)
    count = starts.shape[0]
    flat = ops.reshape(input, [-1]) if count else ops.reshape(input, [-1])[:0]
    bag = ops.searchsorted(starts, ops.arange(flat.shape[0]), True) - 1
    padding = _padding(padding_idx, weight.shape[0], "padding_idx must be within the number of embeddings")
    if padding is not None:
        kept = _constant(np.flatnonzero(flat.detach().numpy() != padding))
        flat, bag = ops.index_select(flat, 0, kept), ops.index_select(bag, 0, kept)
        if per_sample_weights is not None:
            per_sample_weights = ops.index_select(ops.reshape(per_sample_weights, [-1]), 0, kept)
    try:
        if max_norm is not None:
            _embedding.renormalize(weight, flat, max_norm, norm_type)
        rows = _rows(weight, flat, None, scale_grad_by_freq)
    except IndexOutOfRange as error:
        raise IndexOutOfRange(f"{error}: Expected idx >= 0 && idx < num_embeddings") from None
    return _pooled(rows, per_sample_weights, bag, count, mode)


def _bags(input: Tensor, offsets: Tensor | None, include_last_offset: bool) -> Tensor:
    """Where each bag begins in the flat input."""
    if input.ndim == 2:
        if offsets is not None:
            raise ArgumentError(
                "if input is 2D, then offsets has to be None, as input is treated is a mini-batch of fixed length "
                f"sequences. However, found offsets of type {type(offsets)}"
            )
        return _constant(np.arange(input.shape[0]) * input.shape[1])
    if input.ndim != 1:
        raise ArgumentError(f"input has to be 1D or 2D Tensor, but got Tensor of dimension {input.ndim}")
    if offsets is None or offsets.ndim != 1:
        raise ArgumentError("offsets has to be a 1D Tensor" + (" but got None" if offsets is None else ""))
    if offsets.dtype.kind not in "iu":
        raise DtypeError(f"embedding_bag: offsets are integers, not {offsets.dtype}")
    starts, size = ops.cast(offsets.detach(), "int64"), input.shape[0]
    if not _core.all_hold(ops.equal(starts[:1], 0)):
        raise ArgumentError(
            f"offsets[0] has to be 0, i.e., the first sequence starts at 0. However, got {starts[0].item()}"
        )
    if not _core.all_hold(ops.greater_equal(starts[1:], starts[:-1])):
        raise ArgumentError(f"embedding_bag: each offset is at least the one before, not {starts.tolist()}")
    if not _core.all_hold(ops.less_equal(starts[-1:], size)):
        raise ArgumentError(
            f"offsets[-1] can not be greater than input's length {size} but got offsets[-1] of {starts[-1].item()}"
        )
    if include_last_offset and not _core.all_hold(ops.equal(starts[-1:], size)):
        raise ArgumentError(
            f"embedding_bag: with include_last_offset the last offset is the input's length {size}, not "
            f"{starts[-1].item()}"
        )
    return starts[:-1] if include_last_offset else starts


@rounded_once
def _pooled(rows: Tensor, weights: Tensor | None, bag: Tensor, count: int, mode: str) -> Tensor:
    """The rows of each bag, by their weights, as one."""
    if weights is not None:
        rows = ops.multiply(rows, ops.reshape(weights, [-1, 1]))
    shape = [count, rows.shape[1]]
    if mode == "sum":
        total: Tensor = ops.index_add(ops.zeros(shape, rows.dtype), 0, bag, rows)
        return total
    sizes = ops.index_add(ops.zeros([count, 1], "int64"), 0, bag, ops.ones([bag.shape[0], 1], "int64"))
    if mode == "max":
        lowest = ops.full(shape, -np.inf, rows.dtype)
        found: Tensor = ops.index_reduce(lowest, 0, bag, rows, "amax")
        return ops.masked_fill(found, ops.equal(sizes, 0), 0.0)
    total = ops.index_add(ops.zeros(shape, rows.dtype), 0, bag, rows)
    return ops.divide(total, ops.cast(ops.maximum(sizes, 1), rows.dtype))
