"""``paddle.optimizer``: optimizers that update their parameters in place.

>>> import ferrograd.paddle as paddle
>>> w = paddle.to_tensor([4.0], stop_gradient=False)
>>> optimizer = paddle.optimizer.SGD(learning_rate=0.25, parameters=[w])
>>> for _ in range(2):
...     (w * w).sum().backward()
...     optimizer.step()
...     optimizer.clear_grad()
>>> w.item()
1.0
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ferrograd._core import ArgumentError, Tensor
from ferrograd._optim import lbfgs as _lbfgs
from ferrograd._optim import steps as _steps
from ferrograd.paddle.optimizer import lr
from ferrograd.paddle.optimizer.optimizer import Clip, Optimizer, Parameters, Rate

__all__ = ["LBFGS", "SGD", "Adam", "AdamW", "Momentum", "Optimizer", "lr"]


class SGD(Optimizer):
    """Stochastic gradient descent."""

    def __init__(
        self,
        learning_rate: Rate = 0.001,
        parameters: Parameters = None,
        weight_decay: float | None = None,
        grad_clip: Clip | None = None,
        multi_precision: bool = False,
        name: str | None = None,
    ) -> None:
        super().__init__(learning_rate, parameters, weight_decay, grad_clip, name)

    def _update(self, p: Tensor, g: Tensor, rate: float, decay: float) -> None:
        _steps.descend(p, g, self._state[p], rate=rate, decay=decay)


class Momentum(Optimizer):
    """Gradient descent with momentum: ``v = momentum * v + g``, then ``p -= lr * v``, or Nesterov's step."""

    def __init__(
        self,
        learning_rate: Rate = 0.001,
        momentum: float = 0.9,
        parameters: Parameters = None,
        use_nesterov: bool = False,
        weight_decay: float | None = None,
        grad_clip: Clip | None = None,
        multi_precision: bool = False,
        rescale_grad: float = 1.0,
        use_multi_tensor: bool = False,
        name: str | None = None,
    ) -> None:
        super().__init__(learning_rate, parameters, weight_decay, grad_clip, name)
        _steps.at_least("Momentum", 0, momentum=momentum)
        self._momentum, self._nesterov, self._rescale = float(momentum), use_nesterov, float(rescale_grad)

    def _update(self, p: Tensor, g: Tensor, rate: float, decay: float) -> None:
        if self._rescale != 1:
            g = g * self._rescale
        mu, nesterov = self._momentum, self._nesterov
        _steps.descend(p, g, self._state[p], rate=rate, momentum=mu, nesterov=nesterov, decay=decay)


class Adam(Optimizer):
    """Adam: D. Kingma, J. Ba, "Adam: a method for stochastic optimization" (2015)."""

    _decoupled = False

    def __init__(
        self,
        learning_rate: Rate = 0.001,
        beta1: float | Tensor = 0.9,
        beta2: float | Tensor = 0.999,
        epsilon: float | Tensor = 1e-8,
        parameters: Parameters = None,
        weight_decay: float | None = None,
        grad_clip: Clip | None = None,
        lazy_mode: bool = False,
        multi_precision: bool = False,
        use_multi_tensor: bool = False,
        amsgrad: bool = False,
        name: str | None = None,
    ) -> None:
        super().__init__(learning_rate, parameters, weight_decay, grad_clip, name)
        self._betas, self._epsilon, self._amsgrad = (float(beta1), float(beta2)), float(epsilon), amsgrad
        _steps.at_least(type(self).__name__, 0, 1, beta1=self._betas[0], beta2=self._betas[1])
        _steps.at_least(type(self).__name__, 0, epsilon=self._epsilon)

    def _update(self, p: Tensor, g: Tensor, rate: float, decay: float) -> None:
        _steps.adam(
            p,
            g,
            self._state[p],
            rate=rate,
            betas=self._betas,
            epsilon=self._epsilon,
            decay=decay,
            decoupled=self._decoupled,
            largest=self._amsgrad,
        )


class AdamW(Adam):
    """Adam with decoupled weight decay: I. Loshchilov, F. Hutter (2019).

    ``lr_ratio(p)`` scales the learning rate of a parameter. Only parameters for whose name
    ``apply_decay_param_fun(name)`` is true decay.
    """

    _decoupled = True

    def __init__(
        self,
        learning_rate: Rate = 0.001,
        beta1: float | Tensor = 0.9,
        beta2: float | Tensor = 0.999,
        epsilon: float | Tensor = 1e-8,
        parameters: Parameters = None,
        weight_decay: float = 0.01,
        lr_ratio: Callable[[Tensor], float] | None = None,
        apply_decay_param_fun: Callable[[str], bool] | None = None,
        grad_clip: Clip | None = None,
        lazy_mode: bool = False,
        multi_precision: bool = False,
        amsgrad: bool = False,
        name: str | None = None,
    ) -> None:
        super().__init__(
            learning_rate, beta1, beta2, epsilon, parameters, weight_decay, grad_clip, amsgrad=amsgrad, name=name
        )
        self._ratio, self._decays = lr_ratio, apply_decay_param_fun

    def _update(self, p: Tensor, g: Tensor, rate: float, decay: float) -> None:
        if self._ratio is not None:
            rate *= float(self._ratio(p))
        if self._decays is not None and not self._decays(p.name):
            decay = 0.0
        super()._update(p, g, rate, decay)


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
        weight_decay: float | None = None,
        grad_clip: Clip | None = None,
        name: str | None = None,
    ) -> None:
        super().__init__(learning_rate, parameters, weight_decay, grad_clip, name)
        if line_search_fn not in (None, "strong_wolfe"):
            raise ArgumentError(f"LBFGS: only 'strong_wolfe' is supported as line_search_fn, not {line_search_fn!r}")
        if len(self._groups) != 1:
            raise ArgumentError("LBFGS: parameters are of one group")
        self._memory = _lbfgs.Memory()
        self._options = {
            "max_iterations": max_iter,
            "max_evaluations": max_iter * 5 // 4 if max_eval is None else max_eval,
            "tolerance_grad": tolerance_grad,
            "tolerance_change": tolerance_change,
            "history": history_size,
            "searches": line_search_fn is not None,
        }

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Runs up to ``max_iter`` iterations; the loss before them."""
        if closure is None:
            raise ArgumentError("LBFGS.step: a closure that computes the loss and its gradients is needed")
        (group,) = self._groups
        clip, decay, rate = group["grad_clip"], group["weight_decay"] or 0.0, self.get_lr()
        return _lbfgs.step(group["params"], closure, clip, decay, self._memory, rate=rate, **self._options)
