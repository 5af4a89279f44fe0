"""Scaled dot-product attention, which both dialects have."""

from __future__ import annotations

import math
from typing import Any

from ferrograd._core import Tensor, native as ops


def allowed(mask: Tensor, scores: Tensor) -> Any:
    """The scores with -inf where a boolean mask is false, or with a mask of numbers added."""
    if mask.dtype.kind == "b":
        return ops.masked_fill(scores, ops.logical_not(mask), -math.inf)
    return ops.add(scores, mask)


def causal(scores: Tensor) -> Any:
    """The scores with -inf where a key comes after its query."""
    later = ops.triu(ops.ones(list(scores.shape[-2:]), "bool"), 1)
    return ops.masked_fill(scores, later, -math.inf)


def weights(
    query: Tensor, key: Tensor, mask: Tensor | None, is_causal: bool, scale: float | None, dropout: float
) -> Any:
    """``softmax(query @ key.T * scale + mask)``, with elements dropped. The scale is by default 1 / sqrt(size)."""
    scale = 1 / math.sqrt(query.shape[-1] or 1) if scale is None else scale
    scores = ops.matmul(ops.multiply(query, scale), ops.swapaxes(key, -1, -2))
    if is_causal:
        scores = causal(scores)
    if mask is not None:
        scores = allowed(mask, scores)
    found = ops.softmax(scores, -1)
    if mask is not None:
        # A query that may see no key attends to nothing.
        found = ops.where(ops.any(scores != -math.inf, -1, True), found, 0.0)
    return ops.dropout(found, dropout, True) if dropout > 0 else found
