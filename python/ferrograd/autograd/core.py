"""The products with Jacobians of which all operators are made, and the rules of a program's own functions."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from itertools import count
from typing import Any

from ferrograd._kit import public as _public
from ferrograd._kit.warning import warn
from ferrograd.autograd import tracer
from ferrograd.autograd._kit import subval
from ferrograd.autograd._record import Recording
from ferrograd.autograd._spaces import VSpace as VSpace, vspace as vspace
from ferrograd.autograd.tracer import primitive_jvps as primitive_jvps, primitive_vjps as primitive_vjps

Maker = Callable[..., Any]


def make_vjp(fun: Callable[[Any], Any], x: Any) -> tuple[Callable[[Any], Any], Any]:
    """The function from a cotangent of ``fun(x)`` to its product with the Jacobian, and ``fun(x)``."""
    __tracebackhide__ = True
    record = Recording(fun, x)
    return record.vjp, record.value


def make_jvp(fun: Callable[[Any], Any], x: Any) -> Callable[[Any], tuple[Any, Any]]:
    """The function from a tangent of ``x`` to ``fun(x)`` and the product of the Jacobian with the tangent."""

    def jvp(g: Any) -> tuple[Any, Any]:
        __tracebackhide__ = True
        record = Recording(fun, x)
        return record.value, record.jvp(g)

    return jvp


# Rules of reverse mode


def defvjp_argnums(fun: Any, vjpmaker: Maker) -> None:
    """Defines the gradients of a primitive: ``vjpmaker(argnums, ans, args, kwargs)`` returns the function from the
    cotangent to one gradient for each of ``argnums``."""
    _check_primitive(fun)
    primitive_vjps[fun] = vjpmaker


def defvjp_argnum(fun: Any, vjpmaker: Maker) -> None:
    """Defines the gradients of a primitive: ``vjpmaker(argnum, ans, args, kwargs)`` returns the function from the
    cotangent to the gradient of one argument."""

    def vjp_argnums(argnums: Iterable[int], *call: Any) -> Callable[[Any], list[Any]]:
        vjps = [vjpmaker(argnum, *call) for argnum in argnums]
        return lambda g: [vjp(g) for vjp in vjps]

    defvjp_argnums(fun, vjp_argnums)


def defvjp(fun: Any, *vjpmakers: Maker | None, argnums: Iterable[int] | None = None) -> None:
    """Defines the gradients of a primitive, one rule for each argument, or for each of ``argnums``.

    A rule is a function of the result and the arguments that returns the function from the cotangent to the gradient;
    None stands for a gradient of zero.
    """
    makers = dict(zip(count() if argnums is None else argnums, vjpmakers))  # noqa: B905

    def of_one(argnum: int, ans: Any, args: Any, kwargs: Any) -> Callable[[Any], Any]:
        if argnum not in makers:
            raise NotImplementedError(f"VJP of {fun.__name__} wrt argnum {argnum} not defined")
        make = makers[argnum]
        return (lambda g: vspace(args[argnum]).zeros()) if make is None else make(ans, *args, **kwargs)

    _check_rules(fun, "VJP", vjpmakers)
    defvjp_argnum(fun, of_one)


# Rules of forward mode


def defjvp_argnums(fun: Any, jvpmaker: Maker) -> None:
    """Defines the tangent of a primitive: ``jvpmaker(argnums, tangents, ans, args, kwargs)`` returns it."""
    _check_primitive(fun)
    primitive_jvps[fun] = jvpmaker


def defjvp_argnum(fun: Any, jvpmaker: Maker) -> None:
    """Defines the tangent of a primitive as a sum over its arguments: ``jvpmaker(argnum, tangent, ans, args, kwargs)``
    returns the part of one."""

    def jvp_argnums(argnums: Iterable[int], gs: Iterable[Any], ans: Any, args: Any, kwargs: Any) -> Any:
        parts = [jvpmaker(argnum, g, ans, args, kwargs) for argnum, g in zip(argnums, gs, strict=True)]
        return functools.reduce(vspace(ans).add, parts)

    defjvp_argnums(fun, jvp_argnums)


def defjvp(fun: Any, *jvpfuns: Maker | str | None, argnums: Iterable[int] | None = None) -> None:
    """Defines the tangent of a primitive, one rule for each argument, or for each of ``argnums``.

    A rule is a function of the tangent, the result and the arguments. None stands for zero, and ``"same"`` for the
    function itself of the tangent in the place of the argument.
    """
    rules = dict(zip(count() if argnums is None else argnums, jvpfuns))  # noqa: B905

    def of_one(argnum: int, g: Any, ans: Any, args: Any, kwargs: Any) -> Any:
        if argnum not in rules:
            raise NotImplementedError(f"JVP of {fun.__name__} wrt argnum {argnum} not defined")
        rule = rules[argnum]
        if rule == "same":
            return fun(*subval(args, argnum, g), **kwargs)
        return vspace(ans).zeros() if rule is None else rule(g, ans, *args, **kwargs)  # type: ignore[operator]

    _check_rules(fun, "JVP", [rule for rule in jvpfuns if rule != "same"])
    defjvp_argnum(fun, of_one)


def def_linear(fun: Any) -> None:
    """Declares that a primitive is linear in each of its arguments."""
    defjvp_argnum(fun, lambda argnum, g, ans, args, kwargs: fun(*subval(args, argnum, g), **kwargs))


def _check_primitive(fun: Any) -> None:
    if not hasattr(fun, "_is_autograd_primitive"):
        name = getattr(fun, "__name__", fun)
        raise TypeError(f"{name} is no primitive: a function whose gradient is known already keeps it")


def _check_rules(fun: Any, kind: str, rules: Iterable[Any]) -> None:
    for rule in rules:
        if rule is not None and not callable(rule):
            raise TypeError(f"Bad {kind} '{rule}' for '{fun.__name__}'")


# The older forms of rules


def _replaced(name: str) -> None:
    warn(f"The {name} method is deprecated: use autograd.extend.defvjp")


def primitive(f_raw: Callable[..., Any]) -> Callable[..., Any]:
    """:func:`ferrograd.autograd.tracer.primitive`, with the older methods ``defgrad``, ``defvjp`` and
    ``defvjp_is_zero``."""
    wrapped = tracer.primitive(f_raw)
    makers: dict[int, Maker | None] = {}

    def define() -> None:
        argnums = sorted(makers)
        defvjp(wrapped, *[makers[i] for i in argnums], argnums=argnums)

    def defgrad(gradfun: Maker, argnum: int = 0) -> None:
        _replaced("defgrad")
        makers[argnum] = gradfun
        define()

    def defvjp_(vjpfun: Maker, argnum: int = 0) -> None:
        _replaced("defvjp")
        makers[argnum] = lambda ans, *args, **kwargs: (
            lambda g: vjpfun(g, ans, vspace(args[argnum]), vspace(g), *args, **kwargs)
        )
        define()

    def defvjp_is_zero(argnums: Iterable[int] = (0,)) -> None:
        _replaced("defvjp_is_zero")
        makers.update(dict.fromkeys(argnums))
        define()

    wrapped.defgrad, wrapped.defvjp, wrapped.defvjp_is_zero = defgrad, defvjp_, defvjp_is_zero  # type: ignore[attr-defined]
    return wrapped


__all__ = [
    "VSpace",
    "def_linear",
    "defjvp",
    "defjvp_argnum",
    "defjvp_argnums",
    "defvjp",
    "defvjp_argnum",
    "defvjp_argnums",
    "make_jvp",
    "make_vjp",
    "primitive",
    "primitive_jvps",
    "primitive_vjps",
    "vspace",
]

__dir__ = _public.names(globals())
