"""Transformers: A. Vaswani et al., "Attention is all you need" (2017)."""

from __future__ import annotations

import math
from collections import namedtuple
from collections.abc import Callable
from typing import Any

import numpy as np

from ferrograd import _core
from ferrograd._core import paddle as ops
from ferrograd._functions import attention
from ferrograd._kit import arguments as _arguments, public as _public
from ferrograd._kit.dialect import PADDLE
from ferrograd.paddle._tensor import Tensor
from ferrograd.paddle.nn import functional as F
from ferrograd.paddle.nn.layer.common import Dropout, Linear
from ferrograd.paddle.nn.layer.container import LayerList
from ferrograd.paddle.nn.layer.layers import Layer
from ferrograd.paddle.nn.layer.norm import LayerNorm

__all__ = [
    "MultiHeadAttention",
    "Transformer",
    "TransformerDecoder",
    "TransformerDecoderLayer",
    "TransformerEncoder",
    "TransformerEncoderLayer",
]

Mask = Tensor | None


def _mask(mask: Mask, dtype: Any) -> Mask:
    """A mask as numbers to add or as booleans, which are true where a query may see a key; integers are booleans."""
    if mask is None or mask.dtype.kind in "bfV":
        return mask
    return ops.cast(mask, "bool")


def _convert_attention_mask(attn_mask: Mask, dtype: Any) -> Mask:
    """A mask as numbers of a dtype to add, for layers of other libraries: where it is 0 or False, -1e9."""
    if attn_mask is None or attn_mask.dtype == dtype:
        return attn_mask
    numbers = ops.cast(attn_mask, dtype)
    return (numbers - 1.0) * 1e9 if attn_mask.dtype.kind in "biu" else numbers


def _attributes(given: Any, count: int) -> list[Any]:
    """One attribute for each of several parts: those given, or one for all."""
    if isinstance(given, list | tuple):
        if len(given) == 1:
            return list(given) * count
        found = list(given)
        # Two attributes of a decoder stand for both attentions and the linear layers.
        return [found[0], found[0], found[1]] if count == 3 and len(found) == 2 else found
    return [given] * count


class MultiHeadAttention(Layer):
    """Attention with ``num_heads`` heads, each with ``embed_dim / num_heads`` elements.

    >>> import ferrograd.paddle as paddle
    >>> x = paddle.ones([2, 5, 8])
    >>> list(paddle.nn.MultiHeadAttention(8, 4)(x).shape)
    [2, 5, 8]
    """

    Cache = namedtuple("Cache", ["k", "v"])
    StaticCache = namedtuple("StaticCache", ["k", "v"])

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        dropout: float = 0.0,
        kdim: int | None = None,
        vdim: int | None = None,
        need_weights: bool = False,
        weight_attr: Any = None,
        bias_attr: Any = None,
    ) -> None:
        super().__init__()
        _arguments.sizes(self, embed_dim=embed_dim, num_heads=num_heads)
        if embed_dim <= 0 or num_heads <= 0:
            raise AssertionError(
                f"Expected embed_dim and num_heads to be greater than 0, but received {embed_dim} and {num_heads}"
            )
        self.embed_dim, self.num_heads, self.dropout, self.need_weights = embed_dim, num_heads, dropout, need_weights
        self.kdim = embed_dim if kdim is None else kdim
        self.vdim = embed_dim if vdim is None else vdim
        self.head_dim = embed_dim // num_heads
        if self.head_dim * num_heads != embed_dim:
            raise AssertionError("embed_dim must be divisible by num_heads")
        self.q_proj = Linear(embed_dim, embed_dim, weight_attr, bias_attr)
        self.k_proj = Linear(self.kdim, embed_dim, weight_attr, bias_attr)
        self.v_proj = Linear(self.vdim, embed_dim, weight_attr, bias_attr)
        self.out_proj = Linear(embed_dim, embed_dim, weight_attr, bias_attr)

    def _heads(self, x: Tensor) -> Tensor:
        """[batch, length, size] as [batch, heads, length, size of a head]."""
        batch, length, _ = x.shape
        return ops.swapaxes(ops.reshape(x, [batch, length, self.num_heads, self.head_dim]), 1, 2)

    def gen_cache(self, key: Tensor, value: Mask = None, type: Any = None) -> Any:
        """Keys and values that later calls use: of a memory, given ones, or empty ones that calls append to."""
        type = self.Cache if type is None else type
        if type is self.StaticCache:
            return self.StaticCache(*self._keys(key, key if value is None else value))
        if value is not None:
            return self.Cache(key, value)
        empty = ops.zeros([key.shape[0], self.num_heads, 0, self.head_dim], key.dtype)
        return self.Cache(empty, empty)

    def _keys(self, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        return self._heads(self.k_proj(key)), self._heads(self.v_proj(value))

    def forward(
        self, query: Tensor, key: Mask = None, value: Mask = None, attn_mask: Mask = None, cache: Any = None
    ) -> Any:
        """The output, [batch, length, size], then the weights if they are needed and the cache if one is given.

        Keys and values are by default the queries. A mask is added to the scores, or true where a key may be seen.
        """
        key = query if key is None else key
        value = key if value is None else value
        q = self._heads(self.q_proj(query))
        if isinstance(cache, self.StaticCache):
            k, v = cache.k, cache.v
        else:
            k, v = self._keys(key, value)
        if isinstance(cache, self.Cache):
            k, v = ops.concat([cache.k, k], 2), ops.concat([cache.v, v], 2)
            cache = self.Cache(k, v)
        mask = _mask(attn_mask, q.dtype)
        weights = attention.weights(q, k, mask, False, None, self.dropout if self.training else 0.0)
        joined = ops.swapaxes(ops.matmul(weights, v), 1, 2)
        y = self.out_proj(ops.reshape(joined, [*joined.shape[:2], self.embed_dim]))
        found = [y, *([weights] if self.need_weights else []), *([] if cache is None else [cache])]
        return y if len(found) == 1 else tuple(found)


class _TransformerLayer(Layer):
    """What the layers of encoders and decoders share."""

    def _fg_set(self, sizes: tuple[int, int, int], attentions: tuple[str, ...], options: tuple[Any, ...]) -> None:
        super().__init__()
        self._config = (*sizes, *options)
        d_model, nhead, dim_feedforward = sizes
        dropout, activation, attn_dropout, act_dropout, normalize_before, weight_attr, bias_attr, eps = options
        for value, name in zip(sizes, ("d_model", "nhead", "dim_feedforward"), strict=True):
            if value <= 0:
                raise AssertionError(f"Expected {name} to be greater than 0, but received {value}")
        attn_dropout = dropout if attn_dropout is None else attn_dropout
        act_dropout = dropout if act_dropout is None else act_dropout
        self.normalize_before = normalize_before
        count = len(attentions) + 1
        weights, biases = _attributes(weight_attr, count), _attributes(bias_attr, count)
        for name, weight, bias in zip(attentions, weights, biases, strict=False):
            attend = MultiHeadAttention(d_model, nhead, attn_dropout, weight_attr=weight, bias_attr=bias)
            setattr(self, name, attend)
        self.linear1 = Linear(d_model, dim_feedforward, weights[-1], biases[-1])
        self.dropout = Dropout(act_dropout, mode="upscale_in_train")
        self.linear2 = Linear(dim_feedforward, d_model, weights[-1], biases[-1])
        for i in range(1, count + 1):
            setattr(self, f"norm{i}", LayerNorm(d_model, eps))
        for i in range(1, count + 1):
            setattr(self, f"dropout{i}", Dropout(dropout, mode="upscale_in_train"))
        self.activation: Any = getattr(F, activation)

    def _again(self) -> Any:
        """A new layer with the same arguments."""
        return type(self)(*self._config)

    def _fg_around(self, i: int, x: Tensor, block: Callable[[Tensor], Any]) -> tuple[Tensor, Any]:
        """The sum of ``x`` and a block of it, normalized before the block or after, and what else the block gives."""
        norm, dropout = getattr(self, f"norm{i}"), getattr(self, f"dropout{i}")
        found = block(norm(x) if self.normalize_before else x)
        y, *others = found if isinstance(found, tuple) else (found,)
        y = ops.add(x, dropout(y))
        return (y if self.normalize_before else norm(y)), others[0] if others else None

    def _fg_feed(self, x: Tensor) -> Any:
        return self.linear2(self.dropout(self.activation(self.linear1(x))))


class TransformerEncoderLayer(_TransformerLayer):
    """Attention of a sequence to itself and two linear layers, each with a residual connection and normalization."""

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int,
        dropout: float = 0.1,
        activation: str = "relu",
        attn_dropout: float | None = None,
        act_dropout: float | None = None,
        normalize_before: bool = False,
        weight_attr: Any = None,
        bias_attr: Any = None,
        layer_norm_eps: float = 1e-5,
    ) -> None:
        options = (dropout, activation, attn_dropout, act_dropout, normalize_before, weight_attr, bias_attr)
        self._fg_set((d_model, nhead, dim_feedforward), ("self_attn",), (*options, layer_norm_eps))

    def gen_cache(self, src: Tensor) -> Any:
        """An empty cache, to which calls append."""
        return self.self_attn.gen_cache(src, type=MultiHeadAttention.Cache)

    def forward(self, src: Tensor, src_mask: Mask = None, cache: Any = None) -> Any:
        """The encoded sequence, [batch, length, size], and the cache if one is given."""
        x, cache = self._fg_around(1, src, lambda x: self.self_attn(x, x, x, src_mask, cache))
        x, _ = self._fg_around(2, x, self._fg_feed)
        return x if cache is None else (x, cache)


class TransformerDecoderLayer(_TransformerLayer):
    """Attention of a sequence to itself and to a memory, and two linear layers, each with a residual connection."""

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int,
        dropout: float = 0.1,
        activation: str = "relu",
        attn_dropout: float | None = None,
        act_dropout: float | None = None,
        normalize_before: bool = False,
        weight_attr: Any = None,
        bias_attr: Any = None,
        layer_norm_eps: float = 1e-5,
    ) -> None:
        options = (dropout, activation, attn_dropout, act_dropout, normalize_before, weight_attr, bias_attr)
        self._fg_set((d_model, nhead, dim_feedforward), ("self_attn", "cross_attn"), (*options, layer_norm_eps))

    def gen_cache(self, memory: Tensor) -> tuple[Any, Any]:
        """An empty cache for the sequence, and the keys and values of the memory."""
        growing = self.self_attn.gen_cache(memory, type=MultiHeadAttention.Cache)
        return growing, self.cross_attn.gen_cache(memory, memory, MultiHeadAttention.StaticCache)

    def forward(
        self, tgt: Tensor, memory: Tensor, tgt_mask: Mask = None, memory_mask: Mask = None, cache: Any = None
    ) -> Any:
        """The decoded sequence, [batch, length, size], and the caches if they are given."""
        growing, static = (None, None) if cache is None else cache
        x, growing = self._fg_around(1, tgt, lambda x: self.self_attn(x, x, x, tgt_mask, growing))
        x, static = self._fg_around(2, x, lambda x: self.cross_attn(x, memory, memory, memory_mask, static))
        x, _ = self._fg_around(3, x, self._fg_feed)
        return x if cache is None else (x, (growing, static))


class TransformerEncoder(Layer):
    """A stack of encoder layers with the arguments of the one given."""

    def __init__(self, encoder_layer: Any, num_layers: int, norm: Any = None) -> None:
        super().__init__()
        self.layers = LayerList([encoder_layer, *(encoder_layer._again() for _ in range(num_layers - 1))])
        self.num_layers, self.norm = num_layers, norm

    def gen_cache(self, src: Tensor) -> list[Any]:
        """An empty cache for each layer."""
        return [layer.gen_cache(src) for layer in self.layers]

    def forward(self, src: Tensor, src_mask: Mask = None, cache: Any = None) -> Any:
        """The encoded sequence, and the caches if they are given."""
        new = []
        for i, layer in enumerate(self.layers):
            if cache is None:
                src = layer(src, src_mask)
            else:
                src, one = layer(src, src_mask, cache[i])
                new.append(one)
        src = src if self.norm is None else self.norm(src)
        return src if cache is None else (src, new)


class TransformerDecoder(Layer):
    """A stack of decoder layers with the arguments of the one given."""

    def __init__(self, decoder_layer: Any, num_layers: int, norm: Any = None) -> None:
        super().__init__()
        self.layers = LayerList([decoder_layer, *(decoder_layer._again() for _ in range(num_layers - 1))])
        self.num_layers, self.norm = num_layers, norm

    def gen_cache(self, memory: Tensor, do_zip: bool = False) -> list[Any]:
        """The caches of each layer."""
        caches = [layer.gen_cache(memory) for layer in self.layers]
        return list(zip(*caches, strict=True)) if do_zip else caches

    def forward(
        self, tgt: Tensor, memory: Tensor, tgt_mask: Mask = None, memory_mask: Mask = None, cache: Any = None
    ) -> Any:
        """The decoded sequence, and the caches if they are given."""
        new = []
        for i, layer in enumerate(self.layers):
            if cache is None:
                tgt = layer(tgt, memory, tgt_mask, memory_mask)
            else:
                tgt, one = layer(tgt, memory, tgt_mask, memory_mask, cache[i])
                new.append(one)
        tgt = tgt if self.norm is None else self.norm(tgt)
        return tgt if cache is None else (tgt, new)


class Transformer(Layer):
    """An encoder and a decoder."""

    def __init__(
        self,
        d_model: int = 512,
        nhead: int = 8,
        num_encoder_layers: int = 6,
        num_decoder_layers: int = 6,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: str = "relu",
        attn_dropout: float | None = None,
        act_dropout: float | None = None,
        normalize_before: bool = False,
        weight_attr: Any = None,
        bias_attr: Any = None,
        custom_encoder: Any = None,
        custom_decoder: Any = None,
    ) -> None:
        super().__init__()
        options = (dropout, activation, attn_dropout, act_dropout, normalize_before, weight_attr, bias_attr)
        if custom_encoder is None:
            one: Layer = TransformerEncoderLayer(d_model, nhead, dim_feedforward, *options)
            custom_encoder = TransformerEncoder(one, num_encoder_layers, LayerNorm(d_model))
        if custom_decoder is None:
            one = TransformerDecoderLayer(d_model, nhead, dim_feedforward, *options)
            custom_decoder = TransformerDecoder(one, num_decoder_layers, LayerNorm(d_model))
        self.encoder, self.decoder = custom_encoder, custom_decoder
        self.d_model, self.nhead = d_model, nhead

    def forward(
        self, src: Tensor, tgt: Tensor, src_mask: Mask = None, tgt_mask: Mask = None, memory_mask: Mask = None
    ) -> Any:
        """The decoded target sequence, given the source sequence."""
        return self.decoder(tgt, self.encoder(src, src_mask), tgt_mask, memory_mask)

    def generate_square_subsequent_mask(self, length: int) -> Tensor:
        """The mask [length, length] to add to scores so that no query sees a later key."""
        values = np.triu(np.full((length, length), -math.inf), 1)
        return _core.make(values, ops.get_default_dtype(), False, PADDLE)


__dir__ = _public.names(globals())
