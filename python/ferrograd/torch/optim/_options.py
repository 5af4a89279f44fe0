"""The options of a group of parameters."""

from __future__ import annotations

from typing import Any

from ferrograd import _core
from ferrograd._core import ArgumentError
from ferrograd._optim import fused as _fused
from ferrograd.torch._tensor import Tensor


def given(arguments: dict[str, Any]) -> dict[str, Any]:
    """The options among the arguments of ``__init__``. ``foreach``, ``fused`` and ``capturable`` change nothing."""
    if arguments.get("fused") and arguments.get("differentiable"):
        raise RuntimeError("`fused` does not support `differentiable`")
    if arguments.get("fused") and arguments.get("foreach"):
        raise RuntimeError("`fused` and `foreach` cannot be `True` together.")
    lr = arguments.get("lr")
    if isinstance(lr, Tensor) and lr.numel() != 1:
        raise ArgumentError("Tensor lr must be 1-element")
    return {key: value for key, value in arguments.items() if key not in ("self", "params", "__class__")}


def rate_of(group: dict[str, Any]) -> _fused.Rate:
    """Gives the learning rate of a group when it is asked: a tensor for a recorded step, else a number."""

    def rate() -> Any:
        lr = group["lr"]
        if not isinstance(lr, Tensor):
            return float(lr)
        return lr if "records" in group else _core.number_from_outside(lr)

    return rate


def cycle_of(group: dict[str, Any]) -> _fused.Rate | None:
    """Gives the momentum of a group, or the first of its betas, when it is asked, if a schedule changes it."""
    if "max_momentum" not in group:
        return None
    return lambda: float(group["betas"][0] if "betas" in group else group["momentum"])
