"""``paddle.nn.functional.flash_attention``: attention under the name of a kernel for GPUs."""

from __future__ import annotations

from typing import Any

from ferrograd._kit import public as _public
from ferrograd.paddle._tensor import Tensor
from ferrograd.paddle.nn._functional.images import scaled_dot_product_attention

__all__ = ["flash_attention", "scaled_dot_product_attention"]


def flash_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    dropout: float = 0.0,
    causal: bool = False,
    return_softmax: bool = False,
    *,
    fixed_seed_offset: Any = None,
    rng_name: str = "",
    training: bool = True,
    name: str | None = None,
    softmax_scale: float | None = None,
) -> tuple[Tensor, None]:
    """:func:`scaled_dot_product_attention` of [batch, length, heads, size], and None for the weights.

    Raises:
        NotImplementedError: ``return_softmax``, which Paddle has on GPUs only.

    >>> import ferrograd.paddle as paddle
    >>> x = paddle.ones([1, 2, 1, 4])
    >>> out, _ = flash_attention(x, x, x, causal=True)
    >>> out.tolist()[0][0]
    [[1.0, 1.0, 1.0, 1.0]]
    """
    if return_softmax:
        raise NotImplementedError("flash_attention: the weights are not kept; leave return_softmax out")
    out = scaled_dot_product_attention(
        query, key, value, dropout_p=dropout, is_causal=causal, training=training, scale=softmax_scale
    )
    return out, None


__dir__ = _public.names(globals())
