"""``odeint``, whose gradient is the solution of the adjoint equation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.integrate

import ferrograd.autograd.numpy as anp
from ferrograd._kit import public as _public
from ferrograd.autograd.differential_operators import make_vjp
from ferrograd.autograd.extend import defvjp_argnums, primitive
from ferrograd.autograd.misc.flatten import flatten

__all__ = ["odeint"]

odeint = primitive(scipy.integrate.odeint)


def _adjoint(yt: Any, func: Any, y0: Any, t: Any, func_args: Any = (), **options: Any) -> Callable[[Any], Any]:
    """The function from a cotangent of the states ``yt`` to the gradients of the arguments, by the equation that runs
    back in time from one of the times ``t`` to the one before: for the state, its cotangent, and the sums for the time
    and the arguments."""
    size = np.shape(yt)[1]
    flat_args, unflatten = flatten(func_args)

    def flat_func(y: Any, t: Any, flat_args: Any) -> Any:
        return func(y, t, *unflatten(flat_args))

    def parts(state: Any) -> tuple[Any, Any, Any]:
        return state[size : 2 * size], state[2 * size], state[2 * size + 1 :]

    def backwards(state: Any, t: Any, flat_args: Any) -> Any:
        vjp, slope = make_vjp(flat_func, (0, 1, 2))(state[:size], t, flat_args)
        of_y, of_t, of_args = vjp(-state[size : 2 * size])
        return anp.concatenate([slope, of_y, anp.reshape(of_t, (1,)), of_args])

    def vjp(g: Any) -> list[Any]:
        of_y, of_start, of_args = g[-1], 0.0, np.zeros(np.size(flat_args))
        of_times = []
        for i in range(np.shape(yt)[0] - 1, 0, -1):
            moved = anp.sum(func(yt[i], t[i], *func_args) * g[i])
            of_times.append(moved)
            start = anp.concatenate([yt[i], of_y, anp.reshape(of_start - moved, (1,)), of_args])
            state = odeint(backwards, start, anp.array([t[i], t[i - 1]]), (flat_args,), **options)[1]
            of_y, of_start, of_args = parts(state)
            of_y = of_y + g[i - 1]
        return [None, of_y, anp.stack([*of_times, of_start][::-1]), unflatten(of_args)]

    return vjp


def _chosen(argnums: Any, ans: Any, args: Any, kwargs: Any) -> Callable[[Any], Any]:
    def vjp(g: Any) -> list[Any]:
        found = _adjoint(ans, *args, **kwargs)(g)
        return [found[i] for i in argnums]

    return vjp


defvjp_argnums(odeint, _chosen)

__dir__ = _public.names(globals())
