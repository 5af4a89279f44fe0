"""``paddle.autograd``."""

from __future__ import annotations

from ferrograd._autograd.modes import enable_grad, is_grad_enabled, no_grad, set_grad_enabled
from ferrograd._kit import public as _public
from ferrograd.paddle._base.gradients import backward, grad
from ferrograd.paddle._base.jacobian import Hessian, Jacobian, hessian, jacobian
from ferrograd.paddle.autograd import function, py_layer
from ferrograd.paddle.autograd.function import Function
from ferrograd.paddle.autograd.py_layer import PyLayer, PyLayerContext, once_differentiable
from ferrograd.paddle.autograd.saved_tensors_hooks import saved_tensors_hooks

__all__ = [
    "Function",
    "Hessian",
    "Jacobian",
    "PyLayer",
    "PyLayerContext",
    "backward",
    "enable_grad",
    "function",
    "grad",
    "hessian",
    "is_grad_enabled",
    "jacobian",
    "no_grad",
    "once_differentiable",
    "py_layer",
    "saved_tensors_hooks",
    "set_grad_enabled",
]

__dir__ = _public.names(globals())
