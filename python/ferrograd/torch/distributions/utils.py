"""``torch.distributions.utils``: what user-defined distributions are written with."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from ferrograd import _public
from ferrograd._arguments import typed
from ferrograd._autograd.modes import enable_grad
from ferrograd._core import torch as ops
from ferrograd._distributions.discrete import _clipped
from ferrograd._distributions.distribution import broadcast_all, sum_last
from ferrograd.torch._tensor import Tensor

__all__ = ["broadcast_all", "clamp_probs", "lazy_property", "logits_to_probs", "probs_to_logits"]


class lazy_property(cached_property[Any]):
    """A property that is computed once, with recording on so that the value has its graph."""

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        if instance is None:
            return self
        with enable_grad():
            return super().__get__(instance, owner)


def logits_to_probs(logits: Any, is_binary: bool = False) -> Any:
    """The probabilities with these logits: ``sigmoid`` for one probability, else ``softmax`` along the last axis."""
    return ops.sigmoid(logits) if is_binary else ops.softmax(logits, -1)


@typed(probs=Tensor)
def clamp_probs(probs: Any) -> Any:
    """The probabilities, kept from 0 and 1 by the epsilon of their dtype."""
    return _clipped(probs)


@typed(probs=Tensor)
def probs_to_logits(probs: Any, is_binary: bool = False) -> Any:
    """``log(p / (1 - p))`` for one probability, else ``log(p)``, where p is kept from 0 and 1."""
    p = _clipped(probs)
    return ops.log(p) - ops.log1p(-p) if is_binary else ops.log(p)


def _standard_normal(shape: Any, dtype: Any, device: object) -> Any:
    """Standard normal random numbers."""
    return ops.randn(list(shape), dtype)


_sum_rightmost = sum_last

__dir__ = _public.names(globals())
