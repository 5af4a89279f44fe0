"""``torch.func``: the transforms of :mod:`ferrograd.func` with PyTorch's arguments and checks."""

from __future__ import annotations

from ferrograd.torch._func import grad, grad_and_value, hessian, jacfwd, jacrev, jvp, linearize, vjp
from ferrograd.torch._vmap import vmap

__all__ = ["grad", "grad_and_value", "hessian", "jacfwd", "jacrev", "jvp", "linearize", "vjp", "vmap"]
