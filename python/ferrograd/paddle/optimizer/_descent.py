"""Paddle's optimizers that go down the gradient, or by its sign."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ferrograd import _core
from ferrograd._core import ArgumentError, Tensor, paddle as ops
from ferrograd._optim import fused, rules
from ferrograd.paddle.optimizer import _accumulators as accumulators
from ferrograd.paddle.optimizer.optimizer import Clip, Decay, Optimizer, Parameters, Rate

__all__ = ["ASGD", "SGD", "Momentum", "Rprop"]


class SGD(Optimizer):
    """Stochastic gradient descent."""

    def __init__(
        self,
        learning_rate: Rate = 0.001,
        parameters: Parameters = None,
        weight_decay: Decay = None,
        grad_clip: Clip | None = None,
        multi_precision: bool = False,
        name: str | None = None,
        *,
        differentiable: bool = False,
    ) -> None:
        super().__init__(learning_rate, parameters, weight_decay, grad_clip, name, differentiable=differentiable)
        self._multi_precision = multi_precision

    def _fg_update(self, p: Tensor, g: Tensor, rate: fused.Rate, decay: float) -> None:
        fused.descend(p, g, self._state[p], rate=rate, decay=decay)


class Momentum(Optimizer):
    """Gradient descent with momentum: ``v = momentum * v + g``, then ``p -= lr * v``, or Nesterov's step."""

    _accumulators: Mapping[str, str] = {"momentum_buffer": "velocity"}

    def __init__(
        self,
        learning_rate: Rate = 0.001,
        momentum: float = 0.9,
        parameters: Parameters = None,
        use_nesterov: bool = False,
        weight_decay: Decay = None,
        grad_clip: Clip | None = None,
        multi_precision: bool = False,
        rescale_grad: float = 1.0,
        use_multi_tensor: bool = False,
        name: str | None = None,
        *,
        differentiable: bool = False,
    ) -> None:
        super().__init__(learning_rate, parameters, weight_decay, grad_clip, name, differentiable=differentiable)
        self._multi_precision = multi_precision
        self._take(momentum=momentum, use_nesterov=use_nesterov, rescale_grad=rescale_grad)

    def _set(self, *, momentum: Any, use_nesterov: bool, rescale_grad: float) -> None:
        fused.at_least("Momentum", 0, momentum=momentum)
        self._momentum, self._nesterov, self._rescale = self._number(momentum), use_nesterov, float(rescale_grad)

    def _fg_update(self, p: Tensor, g: Tensor, rate: fused.Rate, decay: float) -> None:
        if self._rescale != 1:
            g = g * self._rescale
        mu, nesterov = self._momentum, self._nesterov
        fused.descend(p, g, self._state[p], rate=rate, momentum=mu, nesterov=nesterov, decay=decay)


class ASGD(Optimizer):
    """The mean of the last gradients of ``batch_num`` batches, which come in turn.

    Source: M. Schmidt, N. Le Roux, F. Bach, "Minimizing finite sums with the stochastic average gradient" (2017).
    """

    _accumulators: Mapping[str, str] = {"d": "d"}
    _derived = ("y", "m")

    def __init__(
        self,
        learning_rate: Rate = 0.001,
        batch_num: int = 1,
        parameters: Parameters = None,
        weight_decay: Decay = None,
        grad_clip: Clip | None = None,
        multi_precision: bool = False,
        name: str | None = None,
        *,
        differentiable: bool = False,
    ) -> None:
        super().__init__(learning_rate, parameters, weight_decay, grad_clip, name, differentiable=differentiable)
        self._multi_precision = multi_precision
        if not isinstance(batch_num, int) or batch_num <= 0:
            raise ArgumentError(f"ASGD: batch_num should be greater than 0, not {batch_num}")
        self._batches = batch_num

    def _to_accumulators(self, state: fused.State, p: Tensor) -> dict[str, Any]:
        step, last = state["step"], state["ys"]
        # Paddle keeps the gradient of step k at k modulo the number of batches.
        ring = [accumulators.full(p, 0.0, p.shape)] * self._batches
        for k, g in enumerate(last, step - len(last)):
            ring[k % self._batches] = g
        found = super()._to_accumulators(state, p)
        return {**found, "y": ops.stack(ring), "m": ops.full([1], step, "int64")}

    def _from_accumulators(self, kept: dict[str, Any], p: Tensor) -> fused.State:
        if not kept.keys() >= {"d", "y", "m"}:
            raise ArgumentError(f"set_state_dict: the state of {p.name!r} needs d, y and m")
        state, step = super()._from_accumulators(kept, p), int(accumulators.number(kept["m"]))
        ring = accumulators.copied(kept["y"], p.dtype, [self._batches, *p.shape])
        first = max(0, step - self._batches)
        return {**state, "step": step, "ys": [ring[k % self._batches].clone() for k in range(first, step)]}

    def _fg_update(self, p: Tensor, g: Tensor, rate: fused.Rate, decay: float) -> None:
        rules.averaged_gradient(p, rules.decayed(p, g, decay), self._state[p], rate=rate, batches=self._batches)


class Rprop(Optimizer):
    """Steps by the sign of the gradient: M. Riedmiller, H. Braun (1993).

    The step of an element grows by the second of ``etas`` while the sign stays, and shrinks by the first when it
    changes, within ``learning_rate_range``.
    """

    _accumulators: Mapping[str, str] = {"prev": "prevs", "step_size": "learning_rates"}

    def __init__(
        self,
        learning_rate: Rate = 0.001,
        learning_rate_range: tuple[float, float] = (1e-5, 50),
        parameters: Parameters = None,
        etas: tuple[float, float] = (0.5, 1.2),
        grad_clip: Clip | None = None,
        multi_precision: bool = False,
        name: str | None = None,
        *,
        differentiable: bool = False,
    ) -> None:
        super().__init__(learning_rate, parameters, None, grad_clip, name, differentiable=differentiable)
        self._multi_precision = multi_precision
        low, high = learning_rate_range
        rate = self._rate_now()
        # The number of a traced tensor is not known.
        is_known = not (isinstance(rate, Tensor) and _core.is_tracing())
        if not 0 < low <= high or (is_known and not low <= rate <= high):
            raise ArgumentError(
                "'0.0 < learning_rate_range[0] <= learning_rate <= learning_rate_range[1]' must be true"
            )
        if not 0 < etas[0] < 1 < etas[1]:
            raise ArgumentError("'0.0 < etas[0] < 1.0 < etas[1]' must be true")
        self._range, self._factors = (low, high), (self._number(etas[0]), self._number(etas[1]))

    def _factor(self, group: dict[str, Any], p: Tensor) -> float:
        return 1.0  # All parameters begin with the same step, as in Paddle.

    def _fg_update(self, p: Tensor, g: Tensor, rate: fused.Rate, decay: float) -> None:
        g = rules.decayed(p, g, decay)
        rules.rprop(p, g, self._state[p], rate=rate, factors=self._factors, bounds=self._range)
