"""``paddle.incubate.nn``."""

from ferrograd._kit import public as _public
from ferrograd.paddle.incubate.nn import attn_bias, functional
from ferrograd.paddle.incubate.nn.memory_efficient_attention import memory_efficient_attention

__all__ = ["attn_bias", "functional", "memory_efficient_attention"]

__dir__ = _public.names(globals())
