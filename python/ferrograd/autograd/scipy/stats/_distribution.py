"""Functions of distributions: SciPy's numbers, and formulas of tensors inside of a derivative."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ferrograd.autograd._values import constant
from ferrograd.autograd.extend import defvjp, primitive
from ferrograd.autograd.numpy import _wrapped
from ferrograd.autograd.numpy.numpy_vjps import unbroadcast_f


def with_formula(f: Callable[..., Any], formula: Callable[..., Any]) -> Callable[..., Any]:
    """SciPy's ``f``; where an argument is a tensor, the formula of tensors with the same arguments."""

    def wrapped(*args: Any, **kwargs: Any) -> Any:
        if not (_wrapped.has_tensor(args) or _wrapped.has_tensor(kwargs.values())):
            return f(*args, **kwargs)
        return formula(*map(tensor, args), **{name: tensor(value) for name, value in kwargs.items()})

    wrapped.__name__, wrapped.__doc__ = f.__name__, f.__doc__
    # It is pickled by its name in the module that has the formula.
    wrapped.__qualname__, wrapped.__module__ = f.__name__, formula.__module__
    return wrapped


def tensor(value: Any) -> Any:
    """An argument as a tensor; None and truth values stay."""
    return value if value is None or isinstance(value, bool) else constant(value)


def with_density(
    f: Callable[..., Any], density: Callable[..., Any], places: tuple[int, int] = (1, 2)
) -> Callable[..., Any]:
    """SciPy's cumulative function of ``x``, a location and a scale, whose derivative is ``density``."""
    made, (at, of) = primitive(f), places

    def scaled(args: Any, loc: Any = 0.0, scale: Any = 1.0) -> Any:
        loc, scale = args[at] if len(args) > at else loc, args[of] if len(args) > of else scale
        return (args[0] - loc) / scale

    defvjp(
        made,
        lambda ans, *args, **named: unbroadcast_f(args[0], lambda g: g * density(ans, *args, **named)),
        lambda ans, *args, **named: unbroadcast_f(args[at], lambda g: -g * density(ans, *args, **named)),
        lambda ans, *args, **named: unbroadcast_f(
            args[of], lambda g: -g * density(ans, *args, **named) * scaled(args, **named)
        ),
        argnums=(0, at, of),
    )
    return made
