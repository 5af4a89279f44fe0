"""``paddle.autograd``."""

from __future__ import annotations

from ferrograd.paddle._autograd import backward, grad
from ferrograd.paddle._jacobian import Hessian, Jacobian, hessian, jacobian
from ferrograd.paddle.autograd import py_layer
from ferrograd.paddle.autograd.py_layer import PyLayer, PyLayerContext, once_differentiable

__all__ = [
    "Hessian",
    "Jacobian",
    "PyLayer",
    "PyLayerContext",
    "backward",
    "grad",
    "hessian",
    "jacobian",
    "once_differentiable",
    "py_layer",
]
