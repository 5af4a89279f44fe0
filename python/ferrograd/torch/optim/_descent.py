"""torch's optimizers that go down the gradient, or by its sign."""

from __future__ import annotations

import math
from typing import Any

from ferrograd._core import ArgumentError, Tensor
from ferrograd._optim import fused as _fused, rules
from ferrograd._optim.states import state_of
from ferrograd.torch.optim._options import cycle_of, given, rate_of
from ferrograd.torch.optim.optimizer import Optimizer, Params

__all__ = ["ASGD", "SGD", "Muon", "Rprop"]


class SGD(Optimizer):
    """Stochastic gradient descent, with momentum as in I. Sutskever et al. (2013)."""

    _fg_may_keep = ("momentum_buffer",)
    _fg_takes_cycles = True

    def __init__(
        self,
        params: Params,
        lr: float = 1e-3,
        momentum: float = 0,
        dampening: float = 0,
        weight_decay: float = 0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        super().__init__(params, given(locals()))

    def _fg_check(self, group: dict[str, Any]) -> None:
        _fused.at_least("SGD", 0, **{"learning rate": group["lr"], "momentum value": group["momentum"]})
        _fused.at_least("SGD", 0, **{"weight_decay value": group["weight_decay"]})
        _fused.at_least("SGD", float("-inf"), dampening=group["dampening"])
        if group["nesterov"] and (group["momentum"] <= 0 or group["dampening"] != 0):
            raise ArgumentError("Nesterov momentum requires a momentum and zero dampening")

    def _fg_update(self, p: Tensor, g: Tensor, group: dict[str, Any]) -> None:
        momentum = group["momentum"]
        _fused.descend(
            p,
            g,
            state_of(self.state, p) if isinstance(momentum, Tensor) or momentum else {},
            rate=rate_of(group),
            momentum=momentum,
            dampening=group["dampening"],
            nesterov=group["nesterov"],
            decay=group["weight_decay"],
            cycle=cycle_of(group),
        )


class ASGD(Optimizer):
    """Averaged stochastic gradient descent: B. Polyak, A. Juditsky (1992).

    The state ``ax`` is the mean of the parameter since step ``t0``.
    """

    _fg_kept = ("step", "ax", "eta", "mu")

    def __init__(
        self,
        params: Params,
        lr: float = 1e-2,
        lambd: float = 1e-4,
        alpha: float = 0.75,
        t0: float = 1e6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        super().__init__(params, given(locals()))

    def _fg_check(self, group: dict[str, Any]) -> None:
        _fused.at_least("ASGD", 0, **{"learning rate": group["lr"], "weight_decay value": group["weight_decay"]})
        _fused.at_least("ASGD", 0, **{"lambd value": group["lambd"], "alpha value": group["alpha"]})

    def _fg_update(self, p: Tensor, g: Tensor, group: dict[str, Any]) -> None:
        rules.averaged_sgd(
            p,
            rules.decayed(p, g, group["weight_decay"]),
            state_of(self.state, p),
            rate=rate_of(group),
            decay=group["lambd"],
            power=group["alpha"],
            start=group["t0"],
        )


class Rprop(Optimizer):
    """Steps by the sign of the gradient: M. Riedmiller, H. Braun (1993).

    The step of an element grows by the second of ``etas`` while the sign stays, and shrinks by the first when it
    changes, between the two ``step_sizes``.
    """

    _fg_kept = ("step", "prev", "step_size")

    def __init__(
        self,
        params: Params,
        lr: float = 1e-2,
        etas: tuple[float, float] = (0.5, 1.2),
        step_sizes: tuple[float, float] = (1e-6, 50),
        *,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        super().__init__(params, given(locals()))

    def _fg_check(self, group: dict[str, Any]) -> None:
        _fused.at_least("Rprop", 0, **{"learning rate": group["lr"]})
        if not 0 < group["etas"][0] < 1 < group["etas"][1]:
            raise ArgumentError(f"Invalid eta values: {group['etas'][0]}, {group['etas'][1]}")

    def _fg_update(self, p: Tensor, g: Tensor, group: dict[str, Any]) -> None:
        rules.rprop(
            p, g, state_of(self.state, p), rate=rate_of(group), factors=group["etas"], bounds=group["step_sizes"]
        )


class Muon(Optimizer):
    """Momentum with an orthogonalized step, for matrices: K. Jordan et al., "Muon" (2024).

    PyTorch computes the orthogonalization in bfloat16, this class in the dtype of the parameter.
    """

    _fg_takes_complex = False
    _fg_ratios = ("original", "match_rms_adamw", "spectral_unclamped")
    _fg_kept = ("momentum_buffer",)

    def __init__(
        self,
        params: Params,
        lr: float = 1e-3,
        weight_decay: float = 0.1,
        momentum: float = 0.95,
        nesterov: bool = True,
        ns_coefficients: tuple[float, float, float] = (3.4445, -4.775, 2.0315),
        eps: float = 1e-7,
        ns_steps: int = 5,
        adjust_lr_fn: str | None = None,
        *,
        differentiable: bool = False,
    ) -> None:
        super().__init__(params, given(locals()))

    def _fg_check(self, group: dict[str, Any]) -> None:
        _fused.at_least("Muon", 0, **{"learning rate": group["lr"], "momentum value": group["momentum"]})
        _fused.at_least("Muon", 0, **{"weight_decay value": group["weight_decay"]})
        if group["adjust_lr_fn"] not in (None, *self._fg_ratios):
            raise ArgumentError(f"Adjust learning rate function {group['adjust_lr_fn']} is not supported")
        if len(group["ns_coefficients"]) != 3:
            raise ArgumentError("Coefficients must be a tuple of exactly 3 values")
        for p in group.get("params", ()):
            if len(p.shape) != 2:
                raise ArgumentError(
                    f"Muon only supports 2D parameters whereas we found a parameter with size: {list(p.shape)}"
                )

    def _fg_update(self, p: Tensor, g: Tensor, group: dict[str, Any]) -> None:
        state, momentum, rate = state_of(self.state, p), group["momentum"], rate_of(group)
        if "momentum_buffer" not in state:
            state["momentum_buffer"] = _fused.zeros(p)
        held = state["momentum_buffer"]
        rules.average(held, g, 1 - momentum)
        change = rules.orthogonalized(
            g + (held - g) * momentum if group["nesterov"] else held,
            group["ns_coefficients"],
            group["ns_steps"],
            group["eps"],
        )
        rows, columns = p.shape
        ratio = {
            "match_rms_adamw": 0.2 * math.sqrt(max(rows, columns)),
            "spectral_unclamped": math.sqrt(rows / columns),
        }.get(group["adjust_lr_fn"], math.sqrt(max(1, rows / columns)))
        shrink, speed = _fused.numbers(p, state, lambda: (1 - rate() * group["weight_decay"], rate() * ratio))
        p.mul_(shrink)
        p.sub_(change * speed)
