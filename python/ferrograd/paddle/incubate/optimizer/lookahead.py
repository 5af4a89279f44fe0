"""``paddle.incubate.optimizer.lookahead``."""

from __future__ import annotations

from collections.abc import Mapping

from ferrograd import _core
from ferrograd._autograd.modes import no_grad
from ferrograd._core import ArgumentError
from ferrograd._kit import public as _public
from ferrograd.paddle.optimizer.optimizer import Optimizer

__all__ = ["LookAhead"]


class LookAhead(Optimizer):
    """Steps of ``inner_optimizer``. Each ``k``-th goes only the share ``alpha`` of the way from the last such step.

    M. Zhang et al., "Lookahead Optimizer: k steps forward, 1 step back" (2019). As in Paddle, the slow weights begin
    with the values after the first step.

    Raises:
        ArgumentError: ``alpha`` is not between 0 and 1, or ``k`` is no positive integer.

    >>> import ferrograd.paddle as paddle
    >>> w = paddle.to_tensor([4.0], stop_gradient=False)
    >>> optimizer = LookAhead(paddle.optimizer.SGD(0.25, parameters=[w]), alpha=0.5, k=2)
    >>> for _ in range(2):
    ...     (w * w).sum().backward()
    ...     optimizer.step()
    ...     optimizer.clear_grad()
    >>> w.item()
    1.5
    """

    _accumulators: Mapping[str, str] = {"slow": "slow"}

    def __init__(self, inner_optimizer: Optimizer, alpha: float = 0.5, k: int = 5, name: str | None = None) -> None:
        if not isinstance(inner_optimizer, Optimizer):
            raise ArgumentError(f"LookAhead: an optimizer is wanted, not {type(inner_optimizer).__name__}")
        if not 0.0 <= alpha <= 1.0:
            raise ArgumentError(f"LookAhead: alpha is a share between 0 and 1, not {alpha}")
        if not isinstance(k, int) or k < 1:
            raise ArgumentError(f"LookAhead: k is a positive integer, not {k}")
        super().__init__(alpha, inner_optimizer._parameter_list, name=name)
        self.inner_optimizer, self.alpha, self.k = inner_optimizer, alpha, k
        self._steps = 0

    @no_grad()
    def step(self) -> None:
        """A step of the inner optimizer; in each ``k``-th step the parameters go back to the slow weights' average."""
        _core.give_up_trace("it takes a step of LookAhead")
        self.inner_optimizer.step()
        self._steps += 1
        for p in self._parameter_list:
            if p.grad is None or p.stop_gradient:
                continue
            state = self._state[p]
            if "slow" not in state:
                state["slow"] = p.detach().clone()
            if self._steps % self.k == 0:
                state["slow"].set_value(state["slow"] + self.alpha * (p - state["slow"]))
                p.set_value(state["slow"])


__dir__ = _public.names(globals())
