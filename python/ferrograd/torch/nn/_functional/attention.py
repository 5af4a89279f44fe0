"""Attention with PyTorch's arguments."""

from __future__ import annotations

import math
from typing import Any

from ferrograd._autograd.autocast import in_half
from ferrograd._core import ArgumentError, ShapeError
from ferrograd._functions import attention
from ferrograd._functions.half_floats import rounded_once
from ferrograd._kit import arguments as _arguments
from ferrograd._kit.arguments import typed
from ferrograd._kit.ops import ops
from ferrograd.torch._tensor import Tensor

__all__ = ["multi_head_attention_forward", "scaled_dot_product_attention"]


@in_half
@rounded_once
def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:
    """``softmax(query @ key.T * scale + attn_mask) @ value`` over the last two axes, [..., length, size].

    A boolean mask is true where a query may see a key. ``is_causal`` hides keys after the query. The scale is by
    default 1 / sqrt(size). With ``enable_gqa`` the keys and values may have fewer heads (third axis from the end).

    >>> import ferrograd.torch as torch
    >>> x = torch.ones(1, 2, 3)
    >>> torch.nn.functional.scaled_dot_product_attention(x, x, x, is_causal=True).tolist()
    [[[1.0, 1.0, 1.0], [1.0, 1.0, 1.0]]]
    """
    for x, name in ((query, "query"), (key, "key"), (value, "value")):
        if _arguments.tensor(x, "scaled_dot_product_attention", name).ndim < 2:
            raise ShapeError(
                f"scaled_dot_product_attention: {name} has at least the axes [length, size], not {list(x.shape)}"
            )
    if is_causal and attn_mask is not None:
        raise ArgumentError("scaled_dot_product_attention: Explicit attn_mask should not be set when is_causal=True")
    if enable_gqa:
        if not key.shape[-3] and query.shape[-3]:
            raise ShapeError("scaled_dot_product_attention: enable_gqa needs keys and values with heads")
        times = query.shape[-3] // (key.shape[-3] or 1)
        key, value = (ops.repeat_interleave(x, times, -3) for x in (key, value))
    return ops.matmul(attention.weights(query, key, attn_mask, is_causal, scale, dropout_p), value)


def _added(mask: Tensor | None, name: str, dtype: Any) -> Tensor | None:
    """A mask as numbers to add: -inf where a boolean mask is true."""
    if mask is None:
        return None
    if _arguments.tensor(mask, "multi_head_attention_forward", name).dtype.kind not in "bfV":
        raise ArgumentError(f"only bool and floating types of {name} are supported")
    return mask if mask.dtype.kind != "b" else ops.masked_fill(ops.zeros(list(mask.shape), dtype), mask, -math.inf)


@typed(query=Tensor, key=Tensor, value=Tensor, out_proj_weight=Tensor)
@rounded_once
def multi_head_attention_forward(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    embed_dim_to_check: int,
    num_heads: int,
    in_proj_weight: Tensor | None,
    in_proj_bias: Tensor | None,
    bias_k: Tensor | None,
    bias_v: Tensor | None,
    add_zero_attn: bool,
    dropout_p: float,
    out_proj_weight: Tensor,
    out_proj_bias: Tensor | None,
    training: bool = True,
    key_padding_mask: Tensor | None = None,
    need_weights: bool = True,
    attn_mask: Tensor | None = None,
    use_separate_proj_weight: bool = False,
    q_proj_weight: Tensor | None = None,
    k_proj_weight: Tensor | None = None,
    v_proj_weight: Tensor | None = None,
    static_k: Tensor | None = None,
    static_v: Tensor | None = None,
    average_attn_weights: bool = True,
    is_causal: bool = False,
) -> tuple[Tensor, Tensor | None]:
    """The attention of :class:`~ferrograd.torch.nn.MultiheadAttention`; inputs are [length, batch, size].

    A boolean mask is true where a key is hidden. ``static_k`` and ``static_v`` are not supported.
    """
    if static_k is not None or static_v is not None:
        raise ArgumentError("multi_head_attention_forward: static_k and static_v are not supported")
    if is_causal and attn_mask is None:
        raise ArgumentError(
            "Need attn_mask if specifying the is_causal hint. You may use the Transformer module method "
            "`generate_square_subsequent_mask` to create this mask."
        )
    batched = query.ndim == 3
    _check_ranks(query, key, value, key_padding_mask, attn_mask, num_heads)
    if not batched:
        query, key, value = (ops.expand_dims(x, 1) for x in (query, key, value))
        key_padding_mask = None if key_padding_mask is None else ops.expand_dims(key_padding_mask, 0)
    length, batch, size = query.shape
    if size != embed_dim_to_check:
        raise ArgumentError(f"was expecting embedding dimension of {embed_dim_to_check}, but got {size}")
    head = size // num_heads
    if head * num_heads != size:
        raise ArgumentError(f"embed_dim {size} not divisible by num_heads {num_heads}")
    if tuple(key.shape[:2]) != tuple(value.shape[:2]):
        raise ShapeError(f"key's sequence and batch dims {key.shape[:2]} do not match value's {value.shape[:2]}")
    given = (q_proj_weight, k_proj_weight, v_proj_weight) if use_separate_proj_weight else (in_proj_weight,)
    if any(weight is None for weight in given):
        raise ArgumentError("multi_head_attention_forward: the weights of the projections are missing")
    weights: Any = given if use_separate_proj_weight else ops.chunk(given[0], 3)
    biases: Any = (None,) * 3 if in_proj_bias is None else ops.chunk(in_proj_bias, 3)
    q, k, v = (ops.linear(*three) for three in zip((query, key, value), weights, biases, strict=True))
    extra = 0
    if bias_k is not None and bias_v is not None:
        k, v = (
            ops.concat([x, ops.broadcast_to(b, [1, batch, size])], 0)
            for x, b in zip((k, v), (bias_k, bias_v), strict=True)
        )
        extra += 1
    if add_zero_attn:
        k, v = (ops.pad(x, [(0, 1), (0, 0), (0, 0)]) for x in (k, v))
        extra += 1
    q, k, v = (ops.permute_dims(ops.reshape(x, [x.shape[0], batch, num_heads, head]), [1, 2, 0, 3]) for x in (q, k, v))
    mask = _mask(attn_mask, key_padding_mask, (batch, num_heads, length, k.shape[2] - extra), extra, query.dtype)
    found = attention.weights(q, k, mask, False, None, dropout_p if training else 0.0)
    y = ops.reshape(ops.permute_dims(ops.matmul(found, v), [2, 0, 1, 3]), [length, batch, size])
    y = ops.linear(y, out_proj_weight, out_proj_bias)
    shown = None
    if need_weights:
        shown = ops.mean(found, 1) if average_attn_weights else found
    if batched:
        return y, shown
    return ops.squeeze(y, 1), None if shown is None else ops.squeeze(shown, 0)


def _check_ranks(
    query: Tensor, key: Tensor, value: Tensor, key_padding_mask: Tensor | None, attn_mask: Tensor | None, heads: int
) -> None:
    """Raises unless keys, values and masks have the axes that go with those of the query."""
    rank = query.ndim
    if rank not in (2, 3):
        raise ShapeError(f"query should be unbatched 2D or batched 3D tensor but received {rank}-D query tensor")
    kind = "batched (3-D)" if rank == 3 else "unbatched (2-D)"
    if (key.ndim, value.ndim) != (rank, rank):
        raise ShapeError(
            f"For {kind} `query`, expected `key` and `value` to be {rank}-D but found {key.ndim}-D and {value.ndim}-D "
            "tensors respectively"
        )
    if key_padding_mask is not None and key_padding_mask.ndim != rank - 1:
        raise ShapeError(
            f"For {kind} `query`, expected `key_padding_mask` to be `None` or {rank - 1}-D but found "
            f"{key_padding_mask.ndim}-D tensor instead"
        )
    if attn_mask is None:
        return
    if attn_mask.ndim not in (2, 3):
        raise ShapeError(
            f"For {kind} `query`, expected `attn_mask` to be `None`, 2-D or 3-D but found {attn_mask.ndim}-D tensor "
            "instead"
        )
    if rank == 2 and attn_mask.ndim == 3 and tuple(attn_mask.shape) != (heads, query.shape[0], key.shape[0]):
        raise ShapeError(
            f"Expected `attn_mask` shape to be {(heads, query.shape[0], key.shape[0])} but got {tuple(attn_mask.shape)}"
        )


def _mask(
    attn_mask: Tensor | None, key_padding_mask: Tensor | None, shape: tuple[int, int, int, int], extra: int, dtype: Any
) -> Tensor | None:
    """Both masks as numbers to add to the scores of this shape, without the ``extra`` keys at the end."""
    batch, heads, length, keys = shape
    mask, hidden = _added(attn_mask, "attn_mask", dtype), _added(key_padding_mask, "key_padding_mask", dtype)
    if mask is not None:
        sizes = tuple(mask.shape)
        if mask.ndim == 2 and sizes != (length, keys):
            raise ShapeError(f"The shape of the 2D attn_mask is {mask.shape}, but should be {(length, keys)}.")
        if mask.ndim == 3 and sizes != (batch * heads, length, keys):
            raise ShapeError(
                f"The shape of the 3D attn_mask is {mask.shape}, but should be {(batch * heads, length, keys)}."
            )
        mask = ops.reshape(mask, [batch, heads, length, keys]) if mask.ndim == 3 else mask
    if hidden is not None:
        for axis, (size, wanted) in enumerate(zip(hidden.shape, (batch, keys), strict=True)):
            if size != wanted:
                raise AssertionError(f"Expected key_padded_mask.shape[{axis}] to be {wanted}, but got {size}")
        hidden = ops.reshape(hidden, [batch, 1, 1, keys])
        mask = hidden if mask is None else ops.add(mask, hidden)
    return mask if mask is None or not extra else ops.pad(mask, [(0, 0)] * (mask.ndim - 1) + [(0, extra)])
