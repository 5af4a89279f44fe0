"""``paddle.incubate.nn.memory_efficient_attention``."""

from __future__ import annotations

from ferrograd._core import ArgumentError
from ferrograd._kit import public as _public
from ferrograd.paddle._tensor import Tensor
from ferrograd.paddle.incubate.nn.attn_bias import AttentionBias
from ferrograd.paddle.nn import functional as F

__all__ = ["memory_efficient_attention"]


def memory_efficient_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_bias: Tensor | AttentionBias | None = None,
    p: float = 0.0,
    scale: float | None = None,
    training: bool = True,
) -> Tensor:
    """Attention, all of [batch, length, heads, size], with a tensor or a mask of ``attn_bias`` added to the scores.

    Scores are dropped with probability ``p`` in training.

    >>> import ferrograd.paddle as paddle
    >>> nn = paddle.incubate.nn
    >>> x = paddle.to_tensor([[[[1.0]], [[2.0]], [[4.0]]]])
    >>> mask = nn.attn_bias.BlockDiagonalMask.from_seqlens([1, 2])
    >>> nn.memory_efficient_attention(x * 0, x, x, mask).flatten().tolist()
    [1.0, 3.0, 3.0]
    """
    if isinstance(attn_bias, AttentionBias):
        batch, queries, heads, _ = query.shape
        attn_bias = attn_bias.materialize([batch, heads, queries, key.shape[1]], query.dtype)
    elif attn_bias is not None and not isinstance(attn_bias, Tensor):
        text = f"memory_efficient_attention: attn_bias is a Tensor or a mask, not {type(attn_bias).__name__}"
        raise ArgumentError(text)
    return F.scaled_dot_product_attention(query, key, value, attn_bias, p, False, training, scale=scale)


__dir__ = _public.names(globals())
