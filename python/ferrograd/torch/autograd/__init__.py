"""``torch.autograd``."""

from __future__ import annotations

from ferrograd._modes import enable_grad, inference_mode, no_grad, set_grad_enabled
from ferrograd._watch import detect_anomaly, set_detect_anomaly
from ferrograd.torch._autograd import backward, grad
from ferrograd.torch._classes import Variable
from ferrograd.torch.autograd import forward_ad, function, functional, grad_mode, graph, profiler
from ferrograd.torch.autograd.function import Function
from ferrograd.torch.autograd.gradcheck import gradcheck, gradgradcheck

__all__ = [
    "Function",
    "Variable",
    "backward",
    "detect_anomaly",
    "enable_grad",
    "forward_ad",
    "function",
    "functional",
    "grad",
    "grad_mode",
    "gradcheck",
    "gradgradcheck",
    "graph",
    "inference_mode",
    "no_grad",
    "profiler",
    "set_detect_anomaly",
    "set_grad_enabled",
]
