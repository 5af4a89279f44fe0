"""Discrete Fourier transforms. All of them are differentiable.

>>> import ferrograd as fg
>>> x = fg.tensor([1.0, 2.0, 3.0, 4.0], requires_grad=True)
>>> power = fg.sum(fg.abs(fg.fft.rfft(x)) ** 2)
>>> fg.grad(power, x).tolist()
[12.0, 20.0, 20.0, 28.0]
"""

from __future__ import annotations

from ferrograd._core.native.fft import *
from ferrograd._core.native.fft import __all__ as __all__
from ferrograd._kit import public as _public

__dir__ = _public.names(globals())
