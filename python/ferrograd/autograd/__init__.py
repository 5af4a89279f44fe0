"""The interface of HIPS autograd: derivatives of functions of NumPy's arrays.

Outside of a derivative all values are NumPy's; a function that is differentiated gets tensors in the place of arrays.

>>> import ferrograd.autograd.numpy as np
>>> from ferrograd.autograd import grad
>>> grad(lambda x: np.sum(np.sin(x)))(np.zeros(2)).tolist()
[1.0, 1.0]
"""

from __future__ import annotations

from ferrograd import _core
from ferrograd._kit import public as _public
from ferrograd.autograd.builtins import dict, isinstance, list, tuple, type
from ferrograd.autograd.core import primitive
from ferrograd.autograd.differential_operators import (
    checkpoint,
    deriv,
    elementwise_grad,
    grad,
    grad_and_aux,
    grad_named,
    hessian,
    hessian_tensor_product,
    hessian_vector_product,
    holomorphic_grad,
    jacobian,
    make_ggnvp,
    make_hvp,
    make_jvp,
    make_jvp_reversemode,
    make_vjp,
    multigrad_dict,
    tensor_jacobian_product,
    value_and_grad,
    vector_jacobian_product,
)

__version__ = _core.__version__
egrad = elementwise_grad

__all__ = [
    "checkpoint",
    "deriv",
    "dict",
    "egrad",
    "elementwise_grad",
    "grad",
    "grad_and_aux",
    "grad_named",
    "hessian",
    "hessian_tensor_product",
    "hessian_vector_product",
    "holomorphic_grad",
    "isinstance",
    "jacobian",
    "list",
    "make_ggnvp",
    "make_hvp",
    "make_jvp",
    "make_jvp_reversemode",
    "make_vjp",
    "multigrad_dict",
    "primitive",
    "tensor_jacobian_product",
    "tuple",
    "type",
    "value_and_grad",
    "vector_jacobian_product",
]

__dir__ = _public.names(globals())
