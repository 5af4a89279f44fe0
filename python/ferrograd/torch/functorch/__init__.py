"""``functorch``: the names of :mod:`ferrograd.torch.func` under which older programs import them, with a warning."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TypeVar

from ferrograd._kit import public as _public
from ferrograd._kit.warning import warn
from ferrograd.torch import func
from ferrograd.torch.func import stack_module_state
from ferrograd.torch.fx.experimental.proxy_tensor import make_fx

__all__ = [
    "combine_state_for_ensemble",
    "functionalize",
    "grad",
    "grad_and_value",
    "hessian",
    "jacfwd",
    "jacrev",
    "jvp",
    "make_functional",
    "make_functional_with_buffers",
    "make_fx",
    "stack_module_state",
    "vjp",
    "vmap",
]

F = TypeVar("F", bound=Callable[..., object])


def _old(function: F, new: str) -> F:
    """A function that warns of its old name."""

    @functools.wraps(function)
    def called(*args: object, **kwargs: object) -> object:
        warn(f"functorch.{function.__name__} is deprecated. Please use `{new}`, which does the same", FutureWarning)
        return function(*args, **kwargs)

    return called  # type: ignore[return-value]


combine_state_for_ensemble = _old(func.combine_state_for_ensemble, "torch.func.stack_module_state")
functionalize = _old(func.functionalize, "torch.func.functionalize")
grad = _old(func.grad, "torch.func.grad")
grad_and_value = _old(func.grad_and_value, "torch.func.grad_and_value")
hessian = _old(func.hessian, "torch.func.hessian")
jacfwd = _old(func.jacfwd, "torch.func.jacfwd")
jacrev = _old(func.jacrev, "torch.func.jacrev")
jvp = _old(func.jvp, "torch.func.jvp")
make_functional = _old(func.make_functional, "torch.func.functional_call")
make_functional_with_buffers = _old(func.make_functional_with_buffers, "torch.func.functional_call")
vjp = _old(func.vjp, "torch.func.vjp")
vmap = _old(func.vmap, "torch.vmap")

__dir__ = _public.names(globals())
