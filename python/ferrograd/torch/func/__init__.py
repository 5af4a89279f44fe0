"""``torch.func``: the transforms of :mod:`ferrograd.func` with PyTorch's arguments and checks."""

from __future__ import annotations

from ferrograd._kit import public as _public
from ferrograd.torch._base.transforms import (
    functionalize,
    grad,
    grad_and_value,
    hessian,
    jacfwd,
    jacrev,
    jvp,
    linearize,
    vjp,
)
from ferrograd.torch._base.vmap import vmap
from ferrograd.torch.nn.modules.batchnorm import replace_all_batch_norm_modules_
from ferrograd.torch.nn.utils.stateless import (
    combine_state_for_ensemble,
    functional_call,
    make_functional,
    make_functional_with_buffers,
    stack_module_state,
)

__all__ = [
    "combine_state_for_ensemble",
    "functional_call",
    "functionalize",
    "grad",
    "grad_and_value",
    "hessian",
    "jacfwd",
    "jacrev",
    "jvp",
    "linearize",
    "make_functional",
    "make_functional_with_buffers",
    "replace_all_batch_norm_modules_",
    "stack_module_state",
    "vjp",
    "vmap",
]

__dir__ = _public.names(globals())
