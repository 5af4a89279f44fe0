"""Transformers: A. Vaswani et al., "Attention is all you need" (2017)."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from typing import Any

from ferrograd._kit import public as _public
from ferrograd._kit.ops import ops
from ferrograd.torch._tensor import Tensor
from ferrograd.torch.nn import functional as F, init
from ferrograd.torch.nn.modules.attention import MultiheadAttention
from ferrograd.torch.nn.modules.container import ModuleList
from ferrograd.torch.nn.modules.dropout import Dropout
from ferrograd.torch.nn.modules.linear import Linear
from ferrograd.torch.nn.modules.module import Module
from ferrograd.torch.nn.modules.normalization import LayerNorm

__all__ = [
    "Transformer",
    "TransformerDecoder",
    "TransformerDecoderLayer",
    "TransformerEncoder",
    "TransformerEncoderLayer",
]

Mask = Tensor | None


# The next two have torch's private names because programs that change its transformers import them.
def _get_activation_fn(given: Any) -> Callable[[Tensor], Tensor]:
    if not isinstance(given, str):
        return given
    if given not in ("relu", "gelu"):
        raise RuntimeError(f"activation should be relu/gelu, not {given}")
    return F.relu if given == "relu" else F.gelu


def _get_clones(module: Module, count: int) -> ModuleList:
    return ModuleList([copy.deepcopy(module) for _ in range(count)])


class _Layer(Module):
    """What the layers of encoders and decoders share: attention to themselves and two linear layers."""

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: Any = F.relu,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: object = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        rest = {"bias": bias, "device": device, "dtype": dtype}
        for name in self._fg_attentions:
            setattr(self, name, MultiheadAttention(d_model, nhead, dropout, batch_first=batch_first, **rest))
        self.linear1 = Linear(d_model, dim_feedforward, bias, device, dtype)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, bias, device, dtype)
        self.norm_first = norm_first
        count = len(self._fg_attentions) + 1
        for i in range(1, count + 1):
            setattr(self, f"norm{i}", LayerNorm(d_model, layer_norm_eps, **rest))
        for i in range(1, count + 1):
            setattr(self, f"dropout{i}", Dropout(dropout))
        self.activation = _get_activation_fn(activation)

    #: The names of the attentions, in their order.
    _fg_attentions: tuple[str, ...] = ("self_attn",)

    def _fg_around(self, i: int, x: Tensor, block: Callable[[Tensor], Tensor]) -> Tensor:
        """The sum of ``x`` and a block of it, normalized before the block or after the sum."""
        norm, dropout = getattr(self, f"norm{i}"), getattr(self, f"dropout{i}")
        if self.norm_first:
            return ops.add(x, dropout(block(norm(x))))
        normalized: Tensor = norm(ops.add(x, dropout(block(x))))
        return normalized

    def _fg_feed(self, x: Tensor) -> Tensor:
        found: Tensor = self.linear2(self.dropout(self.activation(self.linear1(x))))
        return found


class TransformerEncoderLayer(_Layer):
    """Attention of a sequence to itself and two linear layers, each with a residual connection and normalization."""

    def forward(
        self, src: Tensor, src_mask: Mask = None, src_key_padding_mask: Mask = None, is_causal: bool = False
    ) -> Any:
        """The encoded sequence, [length, batch, size], or with ``batch_first`` [batch, length, size].

        ``is_causal`` says that ``src_mask`` is causal. It makes no mask: without one it is refused.
        """

        def attend(x: Tensor) -> Tensor:
            found: Tensor = self.self_attn(
                x,
                x,
                x,
                attn_mask=src_mask,
                key_padding_mask=src_key_padding_mask,
                need_weights=False,
                is_causal=is_causal,
            )[0]
            return found

        return self._fg_around(2, self._fg_around(1, src, attend), self._fg_feed)


class TransformerDecoderLayer(_Layer):
    """Attention of a sequence to itself and to another one, and two linear layers, each with a residual connection."""

    _fg_attentions = ("self_attn", "multihead_attn")

    def forward(
        self,
        tgt: Tensor,
        memory: Tensor,
        tgt_mask: Mask = None,
        memory_mask: Mask = None,
        tgt_key_padding_mask: Mask = None,
        memory_key_padding_mask: Mask = None,
        tgt_is_causal: bool = False,
        memory_is_causal: bool = False,
    ) -> Any:
        """The decoded sequence, [length, batch, size], or with ``batch_first`` [batch, length, size].

        ``tgt_is_causal`` and ``memory_is_causal`` say that a mask is causal. Without that mask they are refused.
        """

        def attend(layer: Any, x: Tensor, to: Tensor, **masks: Any) -> Tensor:
            found: Tensor = layer(x, to, to, need_weights=False, **masks)[0]
            return found

        own = {"attn_mask": tgt_mask, "key_padding_mask": tgt_key_padding_mask, "is_causal": tgt_is_causal}
        other = {"attn_mask": memory_mask, "key_padding_mask": memory_key_padding_mask, "is_causal": memory_is_causal}
        x = self._fg_around(1, tgt, lambda x: attend(self.self_attn, x, x, **own))
        x = self._fg_around(2, x, lambda x: attend(self.multihead_attn, x, memory, **other))
        return self._fg_around(3, x, self._fg_feed)


class TransformerEncoder(Module):
    """A stack of copies of an encoder layer."""

    def __init__(
        self,
        encoder_layer: Module,
        num_layers: int,
        norm: Module | None = None,
        enable_nested_tensor: bool = True,
        mask_check: bool = True,
    ) -> None:
        super().__init__()
        self.layers, self.num_layers, self.norm = _get_clones(encoder_layer, num_layers), num_layers, norm
        self.enable_nested_tensor, self.mask_check = enable_nested_tensor, mask_check

    def forward(
        self, src: Tensor, mask: Mask = None, src_key_padding_mask: Mask = None, is_causal: bool | None = None
    ) -> Any:
        """The encoded sequence."""
        for layer in self.layers:
            src = layer(src, src_mask=mask, is_causal=bool(is_causal), src_key_padding_mask=src_key_padding_mask)
        return src if self.norm is None else self.norm(src)


class TransformerDecoder(Module):
    """A stack of copies of a decoder layer."""

    def __init__(self, decoder_layer: Module, num_layers: int, norm: Module | None = None) -> None:
        super().__init__()
        self.layers, self.num_layers, self.norm = _get_clones(decoder_layer, num_layers), num_layers, norm

    def forward(
        self,
        tgt: Tensor,
        memory: Tensor,
        tgt_mask: Mask = None,
        memory_mask: Mask = None,
        tgt_key_padding_mask: Mask = None,
        memory_key_padding_mask: Mask = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Any:
        """The decoded sequence."""
        for layer in self.layers:
            tgt = layer(
                tgt,
                memory,
                tgt_mask=tgt_mask,
                memory_mask=memory_mask,
                tgt_key_padding_mask=tgt_key_padding_mask,
                memory_key_padding_mask=memory_key_padding_mask,
                tgt_is_causal=bool(tgt_is_causal),
                memory_is_causal=memory_is_causal,
            )
        return tgt if self.norm is None else self.norm(tgt)


class Transformer(Module):
    """An encoder and a decoder."""

    def __init__(
        self,
        d_model: int = 512,
        nhead: int = 8,
        num_encoder_layers: int = 6,
        num_decoder_layers: int = 6,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: Any = F.relu,
        custom_encoder: Any = None,
        custom_decoder: Any = None,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: object = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        layer = (d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps, batch_first, norm_first, bias)
        norm = {"eps": layer_norm_eps, "bias": bias, "device": device, "dtype": dtype}
        if custom_encoder is None:
            encoder = TransformerEncoderLayer(*layer, device=device, dtype=dtype)
            custom_encoder = TransformerEncoder(encoder, num_encoder_layers, LayerNorm(d_model, **norm))
        self.encoder = custom_encoder
        if custom_decoder is None:
            decoder = TransformerDecoderLayer(*layer, device=device, dtype=dtype)
            custom_decoder = TransformerDecoder(decoder, num_decoder_layers, LayerNorm(d_model, **norm))
        self.decoder = custom_decoder
        self._reset_parameters()
        self.d_model, self.nhead, self.batch_first = d_model, nhead, batch_first

    def _reset_parameters(self) -> None:
        for p in self.parameters():
            if p.ndim > 1:
                init.xavier_uniform_(p)

    def forward(
        self,
        src: Tensor,
        tgt: Tensor,
        src_mask: Mask = None,
        tgt_mask: Mask = None,
        memory_mask: Mask = None,
        src_key_padding_mask: Mask = None,
        tgt_key_padding_mask: Mask = None,
        memory_key_padding_mask: Mask = None,
        src_is_causal: bool | None = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Any:
        """The decoded target sequence, given the source sequence."""
        axis = 0 if self.batch_first else 1
        if src.ndim == 3 and src.shape[axis] != tgt.shape[axis]:
            raise RuntimeError("the batch number of src and tgt must be equal")
        if src.shape[-1] != self.d_model or tgt.shape[-1] != self.d_model:
            raise RuntimeError("the feature number of src and tgt must be equal to d_model")
        memory = self.encoder(src, mask=src_mask, src_key_padding_mask=src_key_padding_mask, is_causal=src_is_causal)
        return self.decoder(
            tgt,
            memory,
            tgt_mask=tgt_mask,
            memory_mask=memory_mask,
            tgt_key_padding_mask=tgt_key_padding_mask,
            memory_key_padding_mask=memory_key_padding_mask,
            tgt_is_causal=tgt_is_causal,
            memory_is_causal=memory_is_causal,
        )

    @staticmethod
    def generate_square_subsequent_mask(sz: int, device: object = None, dtype: Any = None) -> Tensor:
        """The mask [sz, sz] to add to scores so that no query sees a later key."""
        return ops.triu(ops.full([sz, sz], -math.inf, ops.get_default_dtype() if dtype is None else dtype), 1)


__dir__ = _public.names(globals())
