"""Attention with several heads."""

from __future__ import annotations

from typing import Any

from ferrograd._kit import arguments as _arguments, public as _public
from ferrograd._kit.ops import ops
from ferrograd.torch._tensor import Tensor
from ferrograd.torch.nn import functional as F, init
from ferrograd.torch.nn.modules.linear import NonDynamicallyQuantizableLinear, optional
from ferrograd.torch.nn.modules.module import Module
from ferrograd.torch.nn.parameter import Parameter

__all__ = ["MultiheadAttention"]


class MultiheadAttention(Module):
    """Attention with ``num_heads`` heads, each with ``embed_dim / num_heads`` elements (Vaswani et al. 2017).

    >>> import ferrograd.torch as torch
    >>> x = torch.ones(5, 2, 8)
    >>> y, weights = torch.nn.MultiheadAttention(8, 4)(x, x, x)
    >>> y.shape, weights.shape
    (torch.Size([5, 2, 8]), torch.Size([2, 5, 5]))
    """

    in_proj_weight: Parameter | None
    in_proj_bias: Parameter | None
    q_proj_weight: Parameter | None
    k_proj_weight: Parameter | None
    v_proj_weight: Parameter | None
    bias_k: Parameter | None
    bias_v: Parameter | None

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        dropout: float = 0.0,
        bias: bool = True,
        add_bias_kv: bool = False,
        add_zero_attn: bool = False,
        kdim: int | None = None,
        vdim: int | None = None,
        batch_first: bool = False,
        device: object = None,
        dtype: Any = None,
    ) -> None:
        _arguments.sizes(self, embed_dim=embed_dim, num_heads=num_heads)
        if embed_dim <= 0 or num_heads <= 0:
            raise ValueError(
                f"embed_dim and num_heads must be greater than 0, got embed_dim={embed_dim} and num_heads={num_heads} "
                "instead"
            )
        super().__init__()
        self.embed_dim, self.num_heads, self.dropout, self.batch_first = embed_dim, num_heads, dropout, batch_first
        self.kdim = embed_dim if kdim is None else kdim
        self.vdim = embed_dim if vdim is None else vdim
        self.head_dim = embed_dim // num_heads
        if self.head_dim * num_heads != embed_dim:
            raise AssertionError("embed_dim must be divisible by num_heads")
        one = self._qkv_same_embed_dim = self.kdim == self.vdim == embed_dim
        for name, size in (("q", embed_dim), ("k", self.kdim), ("v", self.vdim)):
            self.register_parameter(f"{name}_proj_weight", optional(not one, [embed_dim, size], dtype, device))
        self.register_parameter("in_proj_weight", optional(one, [3 * embed_dim, embed_dim], dtype, device))
        self.register_parameter("in_proj_bias", optional(bias, [3 * embed_dim], dtype, device))
        self.out_proj = NonDynamicallyQuantizableLinear(embed_dim, embed_dim, bias, device, dtype)
        self.register_parameter("bias_k", optional(add_bias_kv, [1, 1, embed_dim], dtype, device))
        self.register_parameter("bias_v", optional(add_bias_kv, [1, 1, embed_dim], dtype, device))
        self.add_zero_attn = add_zero_attn
        self._reset_parameters()

    def _reset_parameters(self) -> None:
        for weight in (self.in_proj_weight, self.q_proj_weight, self.k_proj_weight, self.v_proj_weight):
            if weight is not None:
                init.xavier_uniform_(weight)
        if self.in_proj_bias is not None:
            init.constant_(self.in_proj_bias, 0.0)
            init.constant_(self.out_proj.bias, 0.0)
        for bias in (self.bias_k, self.bias_v):
            if bias is not None:
                init.xavier_normal_(bias)

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        key_padding_mask: Tensor | None = None,
        need_weights: bool = True,
        attn_mask: Tensor | None = None,
        average_attn_weights: bool = True,
        is_causal: bool = False,
    ) -> tuple[Tensor, Tensor | None]:
        """The output and, unless ``need_weights`` is False, the weights, by default their mean over the heads.

        The inputs are [length, batch, size], with ``batch_first`` [batch, length, size], or without a batch.
        ``attn_mask`` [queries, keys] and ``key_padding_mask`` [batch, keys] are true where a key is hidden, or are
        numbers to add to the scores.
        """
        turned = self.batch_first and query.ndim == 3
        if turned:
            query, key, value = (ops.swapaxes(x, 0, 1) for x in (query, key, value))
        y, weights = F.multi_head_attention_forward(
            query,
            key,
            value,
            self.embed_dim,
            self.num_heads,
            self.in_proj_weight,
            self.in_proj_bias,
            self.bias_k,
            self.bias_v,
            self.add_zero_attn,
            self.dropout,
            self.out_proj.weight,
            self.out_proj.bias,
            self.training,
            key_padding_mask,
            need_weights,
            attn_mask,
            not self._qkv_same_embed_dim,
            self.q_proj_weight,
            self.k_proj_weight,
            self.v_proj_weight,
            average_attn_weights=average_attn_weights,
            is_causal=is_causal,
        )
        return (ops.swapaxes(y, 0, 1) if turned else y), weights


__dir__ = _public.names(globals())
