"""``paddle.nn.ClipGradBy…``: clipping of gradients before the step of an optimizer.

Gradients of parameters whose ``ParamAttr`` has ``need_clip=False`` stay as they are.
"""

from __future__ import annotations

from typing import Any

from ferrograd._core import native
from ferrograd._kit import public as _public
from ferrograd._optim import fused as _steps
from ferrograd.paddle._tensor import Tensor

__all__ = ["ClipGradByGlobalNorm", "ClipGradByNorm", "ClipGradByValue"]

Pairs = list[tuple[Tensor, Tensor]]


def _is_clipped(p: Tensor) -> bool:
    """Whether the ``ParamAttr`` of a parameter lets its gradient be clipped."""
    return getattr(p, "need_clip", True) is not False


class ClipGradByValue:
    """Clips every element to ``[min, max]``. The default of ``min`` is ``-max``."""

    def __init__(self, max: float, min: float | None = None) -> None:
        self.max = float(max)
        self.min = -self.max if min is None else float(min)

    def __str__(self) -> str:
        return f"Clip Gradient By Value, min = {self.min:f}, max={self.max:f}"

    def __call__(self, params_grads: Pairs) -> Pairs:
        """The pairs (parameter, gradient) with clipped gradients."""
        return [(p, native.clip(g, self.min, self.max) if _is_clipped(p) else g) for p, g in params_grads]


def _scale(norm: Any, largest: float, g: Tensor) -> Any:
    """What a gradient is multiplied by for a norm to be at most ``largest``."""
    return _steps.factor(largest / native.maximum(norm.detach().astype("float64"), largest), g)


class ClipGradByNorm:
    """Scales each gradient so that its norm is at most ``clip_norm``."""

    def __init__(self, clip_norm: float) -> None:
        self.clip_norm = float(clip_norm)

    def __str__(self) -> str:
        return f"Gradient Clip By Norm, clip_norm={self.clip_norm:f}"

    def __call__(self, params_grads: Pairs) -> Pairs:
        """The pairs (parameter, gradient) with clipped gradients."""
        return [(p, g * _scale(native.norm(g), self.clip_norm, g) if _is_clipped(p) else g) for p, g in params_grads]


class ClipGradByGlobalNorm:
    """Scales all gradients by one number so that their total norm is at most ``clip_norm``.

    ``group_name`` and ``auto_skip_clip`` change nothing: all gradients of a call are one group.
    """

    def __init__(self, clip_norm: float, group_name: str = "default_group", auto_skip_clip: bool = False) -> None:
        self.clip_norm = float(clip_norm)

    def __str__(self) -> str:
        return f"Gradient Clip By GlobalNorm, global_norm={self.clip_norm:f}"

    def __call__(self, params_grads: Pairs) -> Pairs:
        """The pairs (parameter, gradient) with clipped gradients."""
        if not any(_is_clipped(p) for p, _ in params_grads):
            return params_grads
        total = _steps.total_norm([g for p, g in params_grads if _is_clipped(p)], 2.0)
        return [(p, g * _scale(total, self.clip_norm, g) if _is_clipped(p) else g) for p, g in params_grads]


__dir__ = _public.names(globals())
