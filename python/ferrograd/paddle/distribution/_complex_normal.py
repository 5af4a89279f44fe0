"""The normal distribution of complex numbers, which ``Normal`` is where ``loc`` is complex."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ferrograd import _core
from ferrograd._core import paddle as ops
from ferrograd._distributions import families as _shared, kl as _kl
from ferrograd._distributions.distribution import Distribution
from ferrograd._distributions.kl import register_kl
from ferrograd._kit.dialect import PADDLE
from ferrograd.paddle._tensor import Tensor
from ferrograd.paddle.distribution.distribution import parameters

__all__ = ["ComplexNormal", "is_complex"]


def is_complex(loc: Any) -> bool:
    """Whether a parameter is a complex number, or a tensor or an array of such."""
    return isinstance(loc, complex) or (isinstance(loc, Tensor | np.ndarray | np.generic) and loc.dtype.kind == "c")


class ComplexNormal(_shared.Normal):
    """Complex numbers with mean ``loc`` whose parts are independent, each with the variance ``scale**2 / 2``.

    The density of ``z`` is ``exp(-|z - loc|**2 / scale**2) / (pi scale**2)``.
    """

    def _fg_take(self, loc: Any, scale: Any) -> None:
        """Takes ``loc``, and ``scale`` in the dtype of its parts."""
        loc = loc if isinstance(loc, Tensor) else _core.make(loc, None, False, PADDLE)
        (scale,) = parameters(scale)
        _shared.Normal.__init__(self, loc, ops.astype(scale, ops.real(loc).dtype))

    def log_prob(self, value: Any) -> Any:
        """The logarithm of the density."""
        z = self._fg_standardised(value)
        return -_squared(z) - 2 * ops.log(self.scale) - math.log(math.pi)

    def entropy(self) -> Any:
        """The entropy in nats."""
        return 1 + math.log(math.pi) + 2 * ops.log(self.scale)

    def cdf(self, value: Any) -> Any:
        """Raises TypeError: complex numbers have no order."""
        raise TypeError("complex numbers have no order: there is no cdf of them, and no icdf")

    icdf = cdf


def _squared(z: Any) -> Any:
    """The square of the absolute value."""
    return ops.real(z) ** 2 + ops.imag(z) ** 2


def _refused(p: Any, q: Any) -> Any:
    raise NotImplementedError("no KL(p || q) of a distribution of complex numbers and one of real numbers is finite")


register_kl(ComplexNormal, Distribution)(_refused)
for _p in [p for p, q in _kl._table if q is _shared.Normal]:
    register_kl(_p, ComplexNormal)(_refused)


@register_kl(ComplexNormal, ComplexNormal)
def _complex_normal(p: ComplexNormal, q: ComplexNormal) -> Any:
    ratio = (p.scale / q.scale) ** 2
    return ratio + _squared((p.loc - q.loc) / q.scale) - 1 - ops.log(ratio)
