"""``torch.autograd.graph``."""

from __future__ import annotations

from ferrograd._core import GradientEdge, Node, register_multi_grad_hook
from ferrograd._core import gradient_edge as get_gradient_edge
from ferrograd.torch.autograd._saved import disable_saved_tensors_hooks, save_on_cpu, saved_tensors_hooks

__all__ = [
    "GradientEdge",
    "Node",
    "disable_saved_tensors_hooks",
    "get_gradient_edge",
    "register_multi_grad_hook",
    "save_on_cpu",
    "saved_tensors_hooks",
]
