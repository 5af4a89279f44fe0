"""``paddle.distributed.fleet.utils``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from ferrograd._autograd.checkpoint import checkpoint

__all__ = ["recompute"]

T = TypeVar("T")


def recompute(function: Callable[..., T], *args: Any, **kwargs: Any) -> T:
    """``function(*args, **kwargs)``, which is called again when a gradient is computed instead of keeping what that
    reads. ``preserve_rng_state`` and ``use_reentrant`` are taken out of ``kwargs``; see :func:`ferrograd.checkpoint`.

    >>> import ferrograd.paddle as paddle
    >>> from ferrograd.paddle.distributed.fleet.utils import recompute
    >>> x = paddle.to_tensor([2.0], stop_gradient=False)
    >>> recompute(lambda x: x * x, x).backward()
    >>> x.gradient()
    array([4.], dtype=float32)
    """
    return checkpoint(function, *args, **kwargs)
