"""Function transforms: gradients, Jacobians, tangents and batching. They nest to any depth.

>>> import ferrograd as fg
>>> from ferrograd.func import grad, vmap
>>> cubes = vmap(grad(lambda x: x**3))
>>> cubes(fg.tensor([1.0, 2.0])).tolist()
[3.0, 12.0]
"""

from __future__ import annotations

from ferrograd._compile import compile as jit
from ferrograd._kit import public as _public
from ferrograd.func._arrays import ArrayFunction, for_numpy
from ferrograd.func._control import cond, scan, switch, while_loop
from ferrograd.func._gradients import grad, jvp, linearize, value_and_grad, vjp
from ferrograd.func._jacobians import hessian, jacfwd, jacobian, jacrev
from ferrograd.func._products import hessian_diagonal, hvp, taylor, vhp
from ferrograd.func._sparse import SparseMatrix, sparse_jacobian
from ferrograd.func._trees import ravel_pytree, register_pytree_node, tree_flatten, tree_map, tree_unflatten
from ferrograd.func._vmap import vmap

__all__ = [
    "ArrayFunction",
    "SparseMatrix",
    "cond",
    "for_numpy",
    "grad",
    "hessian",
    "hessian_diagonal",
    "hvp",
    "jacfwd",
    "jacobian",
    "jacrev",
    "jit",
    "jvp",
    "linearize",
    "ravel_pytree",
    "register_pytree_node",
    "scan",
    "sparse_jacobian",
    "switch",
    "taylor",
    "tree_flatten",
    "tree_map",
    "tree_unflatten",
    "value_and_grad",
    "vhp",
    "vjp",
    "vmap",
    "while_loop",
]

__dir__ = _public.names(globals())
