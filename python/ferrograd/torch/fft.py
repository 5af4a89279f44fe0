"""``torch.fft``."""

from __future__ import annotations

from typing import Any

from ferrograd._core import check_device as _check_device
from ferrograd._core.torch import fft as _ops
from ferrograd._core.torch.fft import *
from ferrograd._core.torch.fft import __all__ as __all__
from ferrograd._kit import public as _public
from ferrograd._kit.out import placed
from ferrograd.torch._tensor import Tensor


def fftfreq(  # type: ignore[no-redef]
    n: int,
    d: float = 1.0,
    *,
    out: Tensor | None = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """The frequencies of the elements of ``fft`` for n points at distance d."""
    _check_device("fftfreq", device)
    return placed(_ops.fftfreq(n, d, dtype), out, requires_grad)


def rfftfreq(  # type: ignore[no-redef]
    n: int,
    d: float = 1.0,
    *,
    out: Tensor | None = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
) -> Tensor:
    """The frequencies of the elements of ``rfft`` for n points at distance d."""
    _check_device("rfftfreq", device)
    return placed(_ops.rfftfreq(n, d, dtype), out, requires_grad)


__dir__ = _public.names(globals())
