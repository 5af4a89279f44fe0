"""``scipy.special``: its functions, with derivatives where they have some."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as _np
import scipy.special as _special

import ferrograd.autograd.numpy as _anp
from ferrograd._core import native as _ops
from ferrograd._kit import public as _public
from ferrograd.autograd._values import constant as _constant
from ferrograd.autograd.extend import defjvp as _defjvp, defvjp as _defvjp, primitive as _primitive
from ferrograd.autograd.numpy import _wrapped
from ferrograd.autograd.numpy.numpy_vjps import unbroadcast_f as _unbroadcast_f

if TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        """Any other name."""


_names = _wrapped.namespace(_special, {})
globals().update(_names)
psi: Any = _names["psi"]


def _elementwise(name: str, *slopes: Any) -> Any:
    """SciPy's function of numbers, from its derivative by each argument: functions of the result and the arguments."""
    f = _primitive(getattr(_special, name))

    def rule(i: int, slope: Any) -> Any:
        return lambda ans, *args: _unbroadcast_f(args[i], lambda g: g * slope(ans, *args))

    def tangent(slope: Any) -> Any:
        return lambda t, ans, *args: t * slope(ans, *args)

    _defvjp(f, *[slope and rule(i, slope) for i, slope in enumerate(slopes)])
    _defjvp(f, *[slope and tangent(slope) for slope in slopes])
    return f


gamma: Any = _elementwise("gamma", lambda ans, x: ans * psi(x))
rgamma: Any = _elementwise("rgamma", lambda ans, x: -ans * psi(x))
gammasgn: Any = _elementwise("gammasgn", lambda ans, x: _np.zeros(_np.shape(x)))
polygamma: Any = _elementwise("polygamma", None, lambda ans, n, x: polygamma(n + 1, x))
beta: Any = _elementwise(
    "beta",
    lambda ans, a, b: ans * (psi(a) - psi(a + b)),
    lambda ans, a, b: ans * (psi(b) - psi(a + b)),
)
jn: Any = _elementwise("jn", None, lambda ans, n, x: (jn(n - 1, x) - jn(n + 1, x)) / 2)
jv: Any = jn
yn: Any = _elementwise("yn", None, lambda ans, n, x: (yn(n - 1, x) - yn(n + 1, x)) / 2)
yv: Any = _elementwise("yv", None, lambda ans, n, x: (yv(n - 1, x) - yv(n + 1, x)) / 2)
iv: Any = _elementwise("iv", None, lambda ans, n, x: (iv(n - 1, x) + iv(n + 1, x)) / 2)
ive: Any = _elementwise("ive", None, lambda ans, n, x: ans * (n / x - _anp.sign(x)) + ive(n + 1, x))
erfcinv: Any = _elementwise("erfcinv", lambda ans, x: -math.sqrt(math.pi) / 2 * _anp.exp(ans**2))


def _of_complex_too(name: str, sign: float) -> Any:
    """``erf`` or ``erfc``, which SciPy computes where the argument is complex."""
    real = _names[name]
    of_complex = _elementwise(name, lambda ans, x: sign * 2 / math.sqrt(math.pi) * _anp.exp(-(x**2)))

    def f(x: Any) -> Any:
        is_complex = _wrapped.has_tensor((x,)) and _constant(x).dtype.kind == "c"
        return of_complex(_constant(x)) if is_complex else real(x)

    f.__name__, f.__doc__ = name, f"``scipy.special.{name}``."
    return f


erf, erfc = _of_complex_too("erf", 1.0), _of_complex_too("erfc", -1.0)


def multigammaln(a: Any, d: int) -> Any:
    """``scipy.special.multigammaln``."""
    return _ops.multigammaln(_constant(a), d) if _wrapped.has_tensor((a,)) else _special.multigammaln(a, d)


def softmax(x: Any, axis: Any = None) -> Any:
    """``scipy.special.softmax``."""
    return _anp.exp(x - logsumexp(x, axis, keepdims=True))


def log_softmax(x: Any, axis: Any = None) -> Any:
    """``scipy.special.log_softmax``."""
    return x - logsumexp(x, axis, keepdims=True)


def logsumexp(a: Any, axis: Any = None, b: Any = None, keepdims: bool = False, return_sign: bool = False) -> Any:
    """``scipy.special.logsumexp``: the logarithm of the sum of ``b * exp(a)``."""
    if not _wrapped.has_tensor((a, b)):
        return _special.logsumexp(a, axis, b, keepdims, return_sign)
    if return_sign:
        raise NotImplementedError("logsumexp(return_sign=True) has no derivative")
    a = _constant(a)
    if b is None:
        return _ops.logsumexp(a, axis=axis, keepdims=keepdims)
    top = _ops.max(_ops.where(_ops.isfinite(a.detach()), a.detach(), 0.0), axis=axis, keepdims=True)
    total = _ops.log(_ops.sum(_constant(b) * _ops.exp(a - top), axis=axis, keepdims=keepdims))
    return total + (top if keepdims else _ops.squeeze(top) if axis is None else _ops.squeeze(top, axis=axis))


__all__ = sorted({*_names, "jn", "yn"} - {"annotations"})

__dir__ = _public.names(globals())
