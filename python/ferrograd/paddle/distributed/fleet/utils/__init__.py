"""``paddle.distributed.fleet.utils``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from ferrograd._autograd.checkpoint import checkpoint
from ferrograd._kit import public as _public
from ferrograd.paddle.distributed.fleet.utils import hybrid_parallel_util

__all__ = ["hybrid_parallel_util", "recompute"]

T = TypeVar("T")


def recompute(function: Callable[..., T], *args: Any, **kwargs: Any) -> T:
    """Calls ``function(*args, **kwargs)`` and saves only its arguments; it runs again when a gradient is computed.

    ``preserve_rng_state`` and ``use_reentrant`` are not passed on. See :func:`ferrograd.checkpoint`.

    >>> import ferrograd.paddle as paddle
    >>> from ferrograd.paddle.distributed.fleet.utils import recompute
    >>> x = paddle.to_tensor([2.0], stop_gradient=False)
    >>> recompute(lambda x: x * x, x).backward()
    >>> x.gradient()
    array([4.], dtype=float32)
    """
    return checkpoint(function, *args, **kwargs)


__dir__ = _public.names(globals())
