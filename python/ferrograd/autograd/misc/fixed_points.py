"""The fixed point of an iteration, whose gradient is that of the equation it solves."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ferrograd._kit import public as _public
from ferrograd.autograd.core import defvjp, make_vjp, vspace
from ferrograd.autograd.tracer import primitive


@primitive
def fixed_point(f: Callable[[Any], Any], a: Any, x0: Any, distance: Callable[[Any, Any], Any], tol: float) -> Any:
    """The point where ``f(a)`` moves by no more than ``tol``: the iteration begins at ``x0``.

    It is differentiated by ``a``.
    """
    step = f(a)
    x, before = step(x0), x0
    while distance(x, before) > tol:
        x, before = step(x), x
    return x


def _vjp(ans: Any, f: Any, a: Any, x0: Any, distance: Any, tol: float) -> Callable[[Any], Any]:
    def backwards(params: Any) -> Callable[[Any], Any]:
        a, x, cotangent = params
        vjp_x, _ = make_vjp(f(a), x)
        return lambda g: vspace(x).add(vjp_x(g), cotangent)

    vjp_a, _ = make_vjp(lambda a: f(a)(ans), a)
    return lambda g: vjp_a(fixed_point(backwards, (a, ans, g), vspace(x0).zeros(), distance, tol))


defvjp(fixed_point, None, _vjp, None)

__all__ = [
    "fixed_point",
]

__dir__ = _public.names(globals())
