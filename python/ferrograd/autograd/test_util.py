"""Checks of derivatives against differences."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import product
from typing import Any

from ferrograd._kit import public as _public
from ferrograd.autograd.core import make_jvp, make_vjp, vspace
from ferrograd.autograd.wrap_util import get_name, unary_to_nary

TOL, RTOL, EPS = 1e-6, 1e-6, 1e-6


def scalar_close(a: Any, b: Any) -> bool:
    """Whether two numbers agree to a millionth, absolutely or relatively."""
    return bool(abs(a - b) < TOL or abs(a - b) / abs(a + b) < RTOL)


def make_numerical_jvp(f: Callable[[Any], Any], x: Any) -> Callable[[Any], Any]:
    """The function from a tangent of ``x`` to the central difference of ``f`` along it."""
    ins, outs = vspace(x), vspace(f(x))

    def jvp(v: Any) -> Any:
        ahead, behind = (f(ins.add(x, ins.scalar_mul(v, step))) for step in (EPS / 2, -EPS / 2))
        return outs.scalar_mul(outs.add(ahead, outs.scalar_mul(behind, -1.0)), 1.0 / EPS)

    return jvp


def check_vjp(f: Callable[[Any], Any], x: Any) -> None:
    """Checks the derivative in reverse mode along a random tangent, seen from a random cotangent."""
    vjp, y = make_vjp(f, x)
    ins, outs = vspace(x), vspace(y)
    v, w = ins.randn(), outs.randn()
    slope = ins.covector(vjp(outs.covector(w)))
    assert vspace(slope) == ins
    exact, numeric = ins.inner_prod(v, slope), outs.inner_prod(w, make_numerical_jvp(f, x)(v))
    if not scalar_close(numeric, exact):
        where = f"Derivative (VJP) check of {get_name(f)} failed with arg {x}"
        raise AssertionError(f"{where}:\nanalytic: {exact}\nnumeric:  {numeric}")


def check_jvp(f: Callable[[Any], Any], x: Any) -> None:
    """Checks the derivative in forward mode along a random tangent."""
    v = vspace(x).randn()
    check_equivalent(make_jvp(f, x)(v)[1], make_numerical_jvp(f, x)(v))


def check_equivalent(x: Any, y: Any) -> None:
    """Raises ``AssertionError`` unless two values lie in one space and agree, seen from a random vector."""
    space, other = vspace(x), vspace(y)
    if space != other:
        raise AssertionError(f"VSpace mismatch:\nx: {space}\ny: {other}")
    v = space.randn()
    if not scalar_close(space.inner_prod(x, v), space.inner_prod(y, v)):
        raise AssertionError(f"Value mismatch:\nx: {x}\ny: {y}")


@unary_to_nary
def check_grads(f: Callable[[Any], Any], x: Any, modes: Iterable[str] | None = None, order: int = 2) -> None:
    """Checks the derivatives of ``f`` up to an order, by the modes ``"fwd"`` and ``"rev"`` or one of them.

    Raises:
        AssertionError: a derivative and its difference quotient disagree.

    >>> from ferrograd.autograd.test_util import check_grads
    >>> check_grads(lambda x: x**3)(2.0)
    """
    modes = ["fwd", "rev"] if modes is None else list(modes)
    if not set(modes) <= {"fwd", "rev"}:
        raise AssertionError(f"modes are 'fwd' and 'rev', not {modes}")
    for mode in modes:
        (check_jvp if mode == "fwd" else check_vjp)(f, x)
        if order > 1:
            derivative, v = _derivative(f, x, mode)
            check_grads(derivative, (0, 1), modes, order=order - 1)(x, v)


def _derivative(f: Callable[[Any], Any], x: Any, mode: str) -> tuple[Callable[..., Any], Any]:
    """The derivative as a function of a point and a vector, and a random vector for it."""
    if mode == "fwd":

        def derivative(x: Any, v: Any) -> Any:
            return make_jvp(f, x)(v)[1]

        derivative.__name__ = f"jvp_{get_name(f)}"
        return derivative, vspace(x).randn()

    def product_with(x: Any, v: Any) -> Any:
        return make_vjp(f, x)[0](v)

    product_with.__name__ = f"vjp_{get_name(f)}"
    return product_with, vspace(f(x)).randn()


def combo_check(fun: Callable[..., Any], *args: Any, **kwargs: Any) -> Callable[..., None]:
    """The function that checks ``fun`` at all combinations of the arguments that it is given lists of."""

    def check(*choices: Any, **named: Any) -> None:
        pairs = [[(name, value) for value in values] for name, values in named.items()]
        for given in product(*choices):
            for options in product(*pairs):
                check_grads(fun, *args, **kwargs)(*given, **dict(options))

    return check


__all__ = [
    "EPS",
    "RTOL",
    "TOL",
    "check_equivalent",
    "check_grads",
    "check_jvp",
    "check_vjp",
    "combo_check",
    "make_numerical_jvp",
    "scalar_close",
]

__dir__ = _public.names(globals())
