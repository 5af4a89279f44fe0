"""Formulas of windows: weights that rise and fall, for the pieces of a signal.

A formula takes the places of the weights, which run from 0 to 1, and the distance ``span`` between the first and the
last one, counted in weights.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

from ferrograd._core import native as ops

TURN = 2 * math.pi

Formula = Callable[..., Any]


def weights(formula: Formula, places: Any, periodic: bool, *parameters: Any) -> Any:
    """The weights of a window at the places 0, 1, …, which are of float64. A periodic window lacks the last weight.

    >>> import ferrograd as fg
    >>> weights(triangle, fg.arange(4, dtype="float64"), True).tolist()
    [0.0, 0.5, 1.0, 0.5]
    """
    length = len(places)
    if length < 2:
        return ops.ones_like(places)
    span = length if periodic else length - 1
    return formula(places / span, span, *parameters)


def _from_middle(t: Any) -> Any:
    """How far each place is from the middle. The ends are 1 away from it."""
    return ops.abs(2 * t - 1)


def _cosines(factors: tuple[float, ...], t: Any, span: int) -> Any:
    # The angles run from -pi to pi, so that both halves of a window have the same bits.
    turns, total = t * TURN - math.pi, ops.full_like(t, factors[0])
    for i, factor in enumerate(factors[1:], 1):
        total = total + ops.cos(turns * i) * factor
    return total


def cosines(*factors: float) -> Formula:
    """The formula ``a[0] - a[1] cos(2 pi t) + a[2] cos(4 pi t) - ...``."""
    return functools.partial(_cosines, factors)


def triangle(t: Any, span: int) -> Any:
    """``1 - |2 t - 1|``."""
    return 1 - _from_middle(t)


def triangle_above_zero(t: Any, span: int) -> Any:
    """A triangle whose ends are above 0."""
    return 1 - _from_middle(t) * (span / (span + 1 + (span + 1) % 2))


def half_wave(t: Any, span: int) -> Any:
    """``sin(pi (n + 0.5) / (span + 1))`` at place ``n``."""
    return ops.sin((t * span + 0.5) * (math.pi / (span + 1)))


def exponential(t: Any, span: int, center: float | None = None, tau: float = 1.0) -> Any:
    """``exp(-|n - center| / tau)`` at place ``n``; the center is the middle if it is None."""
    return ops.exp(-ops.abs(t * span - (span / 2 if center is None else center)) / tau)


def general_gaussian(t: Any, span: int, p: float, sig: float) -> Any:
    """``exp(-|(n - middle) / sig|**(2 p) / 2)`` at place ``n``."""
    return ops.exp(-0.5 * ops.abs((t - 0.5) * (span / sig)) ** (2 * p))


def gaussian(t: Any, span: int, std: float) -> Any:
    """``exp(-((n - middle) / std)**2 / 2)`` at place ``n``."""
    return ops.exp(-0.5 * ops.square((t - 0.5) * (span / std)))


def kaiser(t: Any, span: int, beta: float) -> Any:
    """``i0(beta sqrt(1 - (2 t - 1)**2)) / i0(beta)``."""
    # The exponentially scaled function does not overflow.
    root = ops.sqrt(1 - ops.square(2 * t - 1))
    top = ops.i0e(root * beta) * ops.exp((root - 1) * abs(beta))
    return top / ops.i0e(ops.full([1], beta, "float64"))


def bohman(t: Any, span: int) -> Any:
    """``(1 - x) cos(pi x) + sin(pi x) / pi`` for the distance ``x`` from the middle."""
    x = _from_middle(t)
    return (1 - x) * ops.cos(math.pi * x) + ops.sin(math.pi * x) / math.pi


def tukey(t: Any, span: int, alpha: float = 0.5) -> Any:
    """Ones that fade out at both ends by cosines, which are the part ``alpha`` of the window."""
    if alpha <= 0:
        return ops.ones_like(t)
    return 0.5 - 0.5 * ops.cos(math.pi * ops.minimum((1 - _from_middle(t)) / min(alpha, 1), 1))


def taylor(t: Any, span: int, nbar: int = 4, sll: float = 30, norm: bool = True) -> Any:
    """W. Carrara et al., "Spotlight Synthetic Aperture Radar: Signal Processing Algorithms" (1995), appendix D."""
    a = math.acosh(10 ** (sll / 20)) / math.pi
    spread = nbar**2 / (a**2 + (nbar - 0.5) ** 2)
    turns = (t * span - span / 2) * (TURN / (span + 1))
    total, middle = ops.ones_like(t), 1.0
    for m in range(1, nbar):
        above = math.prod(1 - m**2 / spread / (a**2 + (i - 0.5) ** 2) for i in range(1, nbar))
        below = math.prod(1 - (m / i) ** 2 for i in range(1, nbar) if i != m)
        factor = -((-1) ** m) * above / below
        total, middle = total + ops.cos(turns * m) * factor, middle + factor
    return total / middle if norm else total
