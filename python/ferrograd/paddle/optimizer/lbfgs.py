"""``paddle.optimizer.LBFGS``."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from ferrograd._core import ArgumentError, Tensor
from ferrograd._kit import public as _public
from ferrograd._optim import fused as _fused, lbfgs
from ferrograd.paddle.optimizer.optimizer import Clip, Decay, Optimizer, Parameters, Rate

__all__ = ["LBFGS"]

#: Paddle's names of what is kept, by the names in the rule.
_NAMES = {"t": "alpha", "old_dirs": "old_yk", "old_stps": "old_sk"}


class LBFGS(Optimizer):
    """L-BFGS, with a line search for the strong Wolfe conditions if ``line_search_fn="strong_wolfe"``.

    ``step`` needs a closure that computes the loss and its gradients; it is called several times.
    """

    def __init__(
        self,
        learning_rate: Rate = 1.0,
        max_iter: int = 20,
        max_eval: int | None = None,
        tolerance_grad: float = 1e-07,
        tolerance_change: float = 1e-09,
        history_size: int = 100,
        line_search_fn: str | None = None,
        parameters: Parameters = None,
        weight_decay: Decay = None,
        grad_clip: Clip | None = None,
        name: str | None = None,
    ) -> None:
        super().__init__(learning_rate, parameters, weight_decay, grad_clip, name)
        if line_search_fn not in (None, "strong_wolfe"):
            raise ArgumentError(f"LBFGS: only 'strong_wolfe' is supported as line_search_fn, not {line_search_fn!r}")
        if len(self._groups) != 1:
            raise ArgumentError("LBFGS: parameters are of one group")
        self._memory: dict[str, Any] = {}
        self._options: dict[str, Any] = {
            "max_iterations": max_iter,
            "max_evaluations": max_iter * 5 // 4 if max_eval is None else max_eval,
            "tolerance_grad": tolerance_grad,
            "tolerance_change": tolerance_change,
            "history": history_size,
            "searches": line_search_fn is not None,
            "most_in_search": 25,
        }

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Runs up to ``max_iter`` iterations; the loss before them."""
        if closure is None:
            raise ArgumentError("LBFGS.step: a closure that computes the loss and its gradients is needed")
        (group,) = self._groups
        params = group["params"]

        def gradients() -> list[Tensor]:
            found = {id(p): g for p, g, _ in self._gradients(group)}
            return [found.get(id(p), _fused.zeros(p)) for p in params]

        return lbfgs.step(params, closure, gradients, self._memory, rate=self._rate_now(), **self._options)

    def minimize(self, *args: Any, **kwargs: Any) -> Any:
        """Raises NotImplementedError: the loss is computed several times, by the closure that :meth:`step` takes."""
        raise NotImplementedError("LBFGS.minimize: call step with a closure that computes the loss and its gradients")

    def state_dict(self) -> dict[str, Any]:
        """The state, under ``"state"``."""
        return {**super().state_dict(), "state": {_NAMES.get(key, key): x for key, x in self._memory.items()}}

    def set_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Loads a copy of a :meth:`state_dict`."""
        super().set_state_dict({key: value for key, value in state_dict.items() if key != "state"})
        own = {kept: name for name, kept in _NAMES.items()}
        found = copy.deepcopy(state_dict.get("state", {}))
        # Paddle keeps the coefficients of the last step as well, and a list that is still empty as None.
        self._memory = {own.get(key, key): x for key, x in found.items() if key != "al" and x is not None}


__dir__ = _public.names(globals())
