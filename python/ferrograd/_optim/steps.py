"""The update rules of SGD and Adam and the clipping of gradients, in place; shared by the dialects' optimizers."""

from __future__ import annotations

from collections.abc import Iterable
from numbers import Real
from typing import Any

from ferrograd import _arguments, _core
from ferrograd._autograd.modes import no_grad
from ferrograd._core import ArgumentError, Tensor, native

State = dict[str, Any]

#: Why a compiled function takes no step of an optimizer.
NOT_TRACED = "it takes a step of an optimizer, which counts its steps and reads its learning rate in Python"


def leaves(parameters: Any, op: str) -> list[Tensor]:
    """The parameters as a list; raises unless they are distinct leaves."""
    if isinstance(parameters, Tensor) or not isinstance(parameters, Iterable):
        kind = type(parameters).__name__
        raise ArgumentError(f"{op}: parameters must be an iterable of Tensors or dicts, but got {kind}")
    found = list(parameters)
    for p in found:
        if not isinstance(p, Tensor):
            raise ArgumentError(f"{op}: can only optimize Tensors, but one of the parameters is {type(p).__name__}")
        if not p.is_leaf:
            raise ArgumentError(f"{op}: can't optimize a non-leaf Tensor of shape {list(p.shape)}")
    if len({id(p) for p in found}) < len(found):
        raise ArgumentError(f"{op}: a parameter is given twice")
    return found


def at_least(op: str, least: float, below: float | None = None, **values: float) -> None:
    """Raises unless each of ``values`` is a number that is at least ``least`` and below ``below``."""
    for name, value in values.items():
        if not isinstance(value, Real | Tensor):
            raise ArgumentError(f"{op}: {name} must be a number, not {type(value).__name__}")
        if not least <= value or (below is not None and not value < below):
            wanted = f"at least {least:g}" + ("" if below is None else f" and below {below:g}")
            raise ArgumentError(f"{op}: Invalid {name}: {value}; it must be {wanted}")


def zeros(p: Tensor) -> Tensor:
    """The initial state of a rule: zeros with the shape and dtype of the parameter."""
    return native.zeros_like(p).detach()


def descend(
    p: Tensor,
    g: Tensor,
    state: State,
    *,
    rate: float,
    momentum: float = 0.0,
    dampening: float = 0.0,
    nesterov: bool = False,
    decay: float = 0.0,
) -> None:
    """One step of gradient descent with momentum, in place. The first gradient is not dampened."""
    first = "momentum_buffer" not in state
    if momentum and first:
        state["momentum_buffer"] = zeros(p)
    held = state["momentum_buffer"] if momentum else None
    _core.sgd_step(p, g, held, first, rate, momentum, dampening, nesterov, decay)


def adam(
    p: Tensor,
    g: Tensor,
    state: State,
    *,
    rate: float,
    betas: tuple[float, float],
    epsilon: float,
    decay: float,
    decoupled: bool,
    largest: bool,
) -> None:
    """One step of Adam, or of AdamW if the decay is ``decoupled``, in place. ``largest`` is AMSGrad."""
    if not state:
        state.update(step=0, exp_avg=zeros(p), exp_avg_sq=zeros(p))
        if largest:
            state["max_exp_avg_sq"] = zeros(p)
    state["step"] += 1
    top = state.get("max_exp_avg_sq") if largest else None
    m, v = state["exp_avg"], state["exp_avg_sq"]
    _core.adam_step(p, g, m, v, top, state["step"], rate, betas, epsilon, decay, decoupled)


def gradients(parameters: Any, op: str) -> list[Tensor]:
    """The gradients of one or several tensors, without those that have none."""
    tensors = [parameters] if isinstance(parameters, Tensor) else parameters
    return [p.grad for p in tensors if _arguments.tensor(p, op, "each of the parameters").grad is not None]


def total_norm(grads: list[Tensor], order: Any) -> Tensor:
    """The norm of the vector of all gradient elements."""
    norms = [native.norm(g, order) for g in grads]
    return native.norm(native.stack(norms), order) if norms else native.zeros(())


@no_grad()
def clip_norm(parameters: Any, max_norm: float, order: Any, strict: bool, op: str) -> Tensor:
    """Scales gradients in place so that their total norm is at most ``max_norm``; returns the norm before.

    Raises:
        RuntimeError: ``strict``, and the norm is not finite.
    """
    grads = gradients(parameters, op)
    total = total_norm(grads, order)
    if strict and not native.isfinite(total).item():
        raise RuntimeError(
            f"{op}: The total norm of order {order} for gradients from `parameters` is non-finite, so it cannot be "
            "clipped"
        )
    scale = min(float(max_norm) / (total.detach().item() + 1e-6), 1.0)
    if scale < 1 or scale != scale:
        for g in grads:
            g.mul_(scale)
    return total


@no_grad()
def clip_value(parameters: Any, value: float) -> None:
    """Clips every element of the gradients to ``[-value, value]``, in place."""
    for g in gradients(parameters, "clip_grad_value_"):
        g.clip_(-float(value), float(value))
