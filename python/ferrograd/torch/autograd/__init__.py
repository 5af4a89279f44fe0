"""``torch.autograd``."""

from __future__ import annotations

from ferrograd._core import TorchTensor as Variable
from ferrograd._modes import enable_grad, no_grad, set_grad_enabled
from ferrograd.torch._autograd import backward, grad
from ferrograd.torch.autograd import functional, grad_mode, graph

__all__ = [
    "Variable",
    "backward",
    "enable_grad",
    "functional",
    "grad",
    "grad_mode",
    "graph",
    "no_grad",
    "set_grad_enabled",
]
