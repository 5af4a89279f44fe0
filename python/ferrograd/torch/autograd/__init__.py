"""``torch.autograd``."""

from __future__ import annotations

from ferrograd._autograd.debugging import detect_anomaly, set_detect_anomaly
from ferrograd._autograd.modes import enable_grad, inference_mode, no_grad, set_grad_enabled
from ferrograd._core import RawSavedTensor as SavedTensor
from ferrograd._kit import public as _public
from ferrograd.torch._base.gradients import backward, grad
from ferrograd.torch._base.typed_tensors import Variable
from ferrograd.torch.autograd import (
    anomaly_mode,
    forward_ad,
    function,
    functional,
    grad_mode,
    graph,
    profiler,
    variable,
)
from ferrograd.torch.autograd.function import Function
from ferrograd.torch.autograd.grad_mode import is_multithreading_enabled, set_multithreading_enabled
from ferrograd.torch.autograd.gradcheck import gradcheck, gradgradcheck
from ferrograd.torch.autograd.profiler import kineto_available

__all__ = [
    "Function",
    "SavedTensor",
    "Variable",
    "anomaly_mode",
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
    "is_multithreading_enabled",
    "kineto_available",
    "no_grad",
    "profiler",
    "set_detect_anomaly",
    "set_grad_enabled",
    "set_multithreading_enabled",
    "variable",
]


def _profiler_enabled() -> bool:
    """Whether a profiler runs on this thread."""
    return bool(profiler._running.profiles)


__dir__ = _public.names(globals())
