"""``torch.optim``: optimizers that update their parameters in place.

>>> import ferrograd.torch as torch
>>> w = torch.tensor([4.0], requires_grad=True)
>>> optimizer = torch.optim.SGD([w], lr=0.25)
>>> for _ in range(2):
...     optimizer.zero_grad()
...     (w * w).sum().backward()
...     optimizer.step()
>>> w.item()
1.0
"""

from __future__ import annotations

from typing import Any

from ferrograd._core import ArgumentError, Tensor
from ferrograd._optim import lbfgs as _lbfgs
from ferrograd._optim import steps as _steps
from ferrograd.torch.optim import lr_scheduler
from ferrograd.torch.optim.optimizer import Closure, Optimizer, Params

__all__ = ["LBFGS", "SGD", "Adam", "AdamW", "Optimizer", "lr_scheduler"]


class SGD(Optimizer):
    """Stochastic gradient descent, with momentum as in I. Sutskever et al. (2013)."""

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
    ) -> None:
        super().__init__(
            params,
            {
                "lr": lr,
                "momentum": momentum,
                "dampening": dampening,
                "weight_decay": weight_decay,
                "nesterov": nesterov,
                "maximize": maximize,
            },
        )

    def _check(self, group: dict[str, Any]) -> None:
        _steps.at_least("SGD", 0, **{"learning rate": group["lr"], "momentum value": group["momentum"]})
        _steps.at_least("SGD", 0, **{"weight_decay value": group["weight_decay"]})
        _steps.at_least("SGD", float("-inf"), dampening=group["dampening"])
        if group["nesterov"] and (group["momentum"] <= 0 or group["dampening"] != 0):
            raise ArgumentError("Nesterov momentum requires a momentum and zero dampening")

    def _update(self, p: Tensor, g: Tensor, group: dict[str, Any]) -> None:
        _steps.descend(
            p,
            g,
            self.state[p],
            rate=float(group["lr"]),
            momentum=group["momentum"],
            dampening=group["dampening"],
            nesterov=group["nesterov"],
            decay=group["weight_decay"],
        )


class Adam(Optimizer):
    """Adam: D. Kingma, J. Ba, "Adam: a method for stochastic optimization" (2015)."""

    _decoupled = False

    def __init__(
        self,
        params: Params,
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        amsgrad: bool = False,
        *,
        maximize: bool = False,
    ) -> None:
        super().__init__(
            params,
            {
                "lr": lr,
                "betas": betas,
                "eps": eps,
                "weight_decay": weight_decay,
                "amsgrad": amsgrad,
                "maximize": maximize,
            },
        )

    def _check(self, group: dict[str, Any]) -> None:
        name, betas = type(self).__name__, group["betas"]
        if not isinstance(betas, tuple | list) or len(betas) != 2:
            raise ArgumentError(f"{name}: betas must be a pair of numbers, not {betas!r:.60}")
        beta1, beta2 = betas
        _steps.at_least(name, 0, **{"learning rate": group["lr"], "epsilon value": group["eps"]})
        _steps.at_least(name, 0, 1, **{"beta parameter at index 0": beta1, "beta parameter at index 1": beta2})
        _steps.at_least(name, 0, **{"weight_decay value": group["weight_decay"]})

    def _update(self, p: Tensor, g: Tensor, group: dict[str, Any]) -> None:
        _steps.adam(
            p,
            g,
            self.state[p],
            rate=float(group["lr"]),
            betas=group["betas"],
            epsilon=group["eps"],
            decay=group["weight_decay"],
            decoupled=self._decoupled,
            largest=group["amsgrad"],
        )


class AdamW(Adam):
    """Adam with decoupled weight decay: I. Loshchilov, F. Hutter (2019)."""

    _decoupled = True

    def __init__(
        self,
        params: Params,
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
        amsgrad: bool = False,
        *,
        maximize: bool = False,
    ) -> None:
        super().__init__(params, lr, betas, eps, weight_decay, amsgrad, maximize=maximize)


class LBFGS(Optimizer):
    """L-BFGS, with a line search for the strong Wolfe conditions if ``line_search_fn="strong_wolfe"``.

    ``step`` needs a closure that computes the loss and its gradients; it is called several times.
    """

    def __init__(
        self,
        params: Params,
        lr: float = 1,
        max_iter: int = 20,
        max_eval: int | None = None,
        tolerance_grad: float = 1e-7,
        tolerance_change: float = 1e-9,
        history_size: int = 100,
        line_search_fn: str | None = None,
    ) -> None:
        if line_search_fn not in (None, "strong_wolfe"):
            raise ArgumentError(f"LBFGS: only 'strong_wolfe' is supported as line_search_fn, not {line_search_fn!r}")
        _steps.at_least("LBFGS", 0, **{"learning rate": lr})
        super().__init__(
            params,
            {
                "lr": lr,
                "max_iter": max_iter,
                "max_eval": max_iter * 5 // 4 if max_eval is None else max_eval,
                "tolerance_grad": tolerance_grad,
                "tolerance_change": tolerance_change,
                "history_size": history_size,
                "line_search_fn": line_search_fn,
            },
        )
        if len(self.param_groups) != 1:
            raise ArgumentError("LBFGS doesn't support per-parameter options (parameter groups)")

    def step(self, closure: Closure | None = None) -> Any:
        """Runs up to ``max_iter`` iterations; the loss before them."""
        if closure is None:
            raise ArgumentError("LBFGS.step: a closure that computes the loss and its gradients is needed")
        (group,) = self.param_groups
        params = group["params"]
        memory = self.state[params[0]].setdefault("memory", _lbfgs.Memory())
        return _lbfgs.step(
            params,
            closure,
            None,
            0.0,
            memory,
            rate=float(group["lr"]),
            max_iterations=group["max_iter"],
            max_evaluations=group["max_eval"],
            tolerance_grad=group["tolerance_grad"],
            tolerance_change=group["tolerance_change"],
            history=group["history_size"],
            searches=group["line_search_fn"] is not None,
        )
