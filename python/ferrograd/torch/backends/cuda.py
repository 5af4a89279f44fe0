"""``torch.backends.cuda``: switches of products on GPUs. There is no GPU; they change nothing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

from ferrograd._kit import public as _public

__all__ = [
    "cudnn_sdp_enabled",
    "enable_cudnn_sdp",
    "enable_flash_sdp",
    "enable_math_sdp",
    "enable_mem_efficient_sdp",
    "flash_sdp_enabled",
    "is_built",
    "math_sdp_enabled",
    "matmul",
    "mem_efficient_sdp_enabled",
    "sdp_kernel",
]

#: Switches of matrix products.
matmul = SimpleNamespace(
    allow_tf32=False, allow_fp16_reduced_precision_reduction=True, allow_bf16_reduced_precision_reduction=True
)


def is_built() -> bool:
    """False: there is no code for GPUs."""
    return False


def flash_sdp_enabled() -> bool:
    """False: attention has one implementation, which follows its formula."""
    return False


def mem_efficient_sdp_enabled() -> bool:
    """False: attention has one implementation, which follows its formula."""
    return False


def cudnn_sdp_enabled() -> bool:
    """False: there is no GPU."""
    return False


def math_sdp_enabled() -> bool:
    """True: attention follows its formula."""
    return True


@contextmanager
def sdp_kernel(
    enable_flash: bool = True, enable_math: bool = True, enable_mem_efficient: bool = True, enable_cudnn: bool = True
) -> Iterator[None]:
    """A context that changes nothing: there is one implementation of attention.

    >>> import ferrograd.torch as torch
    >>> with torch.backends.cuda.sdp_kernel(enable_flash=True, enable_math=False):
    ...     torch.ones(1).item()
    1.0
    """
    yield


def enable_flash_sdp(enabled: bool) -> None:
    """Does nothing: attention has one implementation."""


def enable_mem_efficient_sdp(enabled: bool) -> None:
    """Does nothing: attention has one implementation."""


def enable_math_sdp(enabled: bool) -> None:
    """Does nothing: attention has one implementation."""


def enable_cudnn_sdp(enabled: bool) -> None:
    """Does nothing: attention has one implementation."""


def _unused(params: Any, debug: bool = False) -> bool:
    """False: there is one kernel for attention."""
    return False


can_use_flash_attention = can_use_efficient_attention = can_use_cudnn_attention = _unused


__dir__ = _public.names(globals())
