"""Paddle's optimizers that adapt the step of each element to its gradients."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ferrograd._core import ArgumentError, Tensor
from ferrograd._optim import fused, rules
from ferrograd.paddle.optimizer import _accumulators as accumulators
from ferrograd.paddle.optimizer.optimizer import Clip, Decay, Optimizer, Parameters, Rate

__all__ = ["Adadelta", "Adagrad", "Adam", "AdamW", "Adamax", "Lamb", "NAdam", "RAdam", "RMSProp"]

#: Paddle's names of the means of gradients and of their squares.
_MOMENTS = {"exp_avg": "moment1", "exp_avg_sq": "moment2"}


class _WithBetas(Optimizer):
    """An optimizer with means of gradients and of their squares."""

    _accumulators: Mapping[str, str] = _MOMENTS

    def _set(self, *, beta1: Any, beta2: Any, epsilon: Any) -> None:
        self._betas, self._epsilon = (self._number(beta1), self._number(beta2)), self._number(epsilon)
        fused.at_least(type(self).__name__, 0, 1, beta1=self._betas[0], beta2=self._betas[1])
        fused.at_least(type(self).__name__, 0, epsilon=self._epsilon)


class Adam(_WithBetas):
    """Adam: D. Kingma, J. Ba, "Adam: a method for stochastic optimization" (2015)."""

    def __init__(
        self,
        learning_rate: Rate = 0.001,
        beta1: float | Tensor = 0.9,
        beta2: float | Tensor = 0.999,
        epsilon: float | Tensor = 1e-8,
        parameters: Parameters = None,
        weight_decay: Decay = None,
        grad_clip: Clip | None = None,
        lazy_mode: bool = False,
        multi_precision: bool = False,
        use_multi_tensor: bool = False,
        amsgrad: bool = False,
        name: str | None = None,
        *,
        differentiable: bool = False,
    ) -> None:
        super().__init__(learning_rate, parameters, weight_decay, grad_clip, name, differentiable=differentiable)
        self._multi_precision, self._amsgrad = multi_precision, amsgrad
        self._accumulators = _MOMENTS | ({"max_exp_avg_sq": "moment2_max"} if amsgrad else {})
        self._take(beta1=beta1, beta2=beta2, epsilon=epsilon)

    def _powers(self) -> dict[str, float]:
        return {"beta1_pow_acc": self._betas[0], "beta2_pow_acc": self._betas[1]}

    def _fg_update(self, p: Tensor, g: Tensor, rate: fused.Rate, decay: float) -> None:
        fused.adam(
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
        use_lowprecision_moment: bool = False,
        lr_ratio: Callable[[Tensor], float] | None = None,
        apply_decay_param_fun: Callable[[str], bool] | None = None,
        grad_clip: Clip | None = None,
        lazy_mode: bool = False,
        multi_precision: bool = False,
        amsgrad: bool = False,
        name: str | None = None,
        *,
        differentiable: bool = False,
    ) -> None:
        if use_lowprecision_moment:
            raise ArgumentError("AdamW: moments of a half dtype are not supported; leave out use_lowprecision_moment")
        super().__init__(
            learning_rate,
            beta1,
            beta2,
            epsilon,
            parameters,
            weight_decay,
            grad_clip,
            multi_precision=multi_precision,
            amsgrad=amsgrad,
            name=name,
            differentiable=differentiable,
        )
        self._ratio, self._decays = lr_ratio, apply_decay_param_fun

    def _fg_update(self, p: Tensor, g: Tensor, rate: fused.Rate, decay: float) -> None:
        plain, ratio = rate, self._ratio
        if ratio is not None:
            rate = lambda: plain() * float(ratio(p))  # noqa: E731
        if self._decays is not None and not self._decays(p.name):
            decay = 0.0
        super()._fg_update(p, g, rate, decay)


class Adamax(_WithBetas):
    """Adam with the largest gradient in place of the root of the mean square: D. Kingma, J. Ba (2015)."""

    _accumulators: Mapping[str, str] = {"exp_avg": "moment", "exp_inf": "inf_norm"}

    def __init__(
        self,
        learning_rate: Rate = 0.001,
        beta1: float | Tensor = 0.9,
        beta2: float | Tensor = 0.999,
        epsilon: float | Tensor = 1e-8,
        parameters: Parameters = None,
        weight_decay: Decay = None,
        grad_clip: Clip | None = None,
        name: str | None = None,
        *,
        differentiable: bool = False,
    ) -> None:
        super().__init__(learning_rate, parameters, weight_decay, grad_clip, name, differentiable=differentiable)
        self._take(beta1=beta1, beta2=beta2, epsilon=epsilon)

    def _powers(self) -> dict[str, float]:
        return {"beta1_pow_acc": self._betas[0]}

    def _fg_update(self, p: Tensor, g: Tensor, rate: fused.Rate, decay: float) -> None:
        g = rules.decayed(p, g, decay)
        rules.adamax(p, g, self._state[p], rate=rate, betas=self._betas, epsilon=self._epsilon, to_norm=True)


class NAdam(_WithBetas):
    """Adam with Nesterov's momentum: T. Dozat, "Incorporating Nesterov momentum into Adam" (2016)."""

    _accumulators: Mapping[str, str] = {**_MOMENTS, "mu_product": "mu_product"}

    def __init__(
        self,
        learning_rate: Rate = 0.002,
        beta1: float | Tensor = 0.9,
        beta2: float | Tensor = 0.999,
        epsilon: float = 1e-8,
        momentum_decay: float = 0.004,
        parameters: Parameters = None,
        weight_decay: Decay = None,
        grad_clip: Clip | None = None,
        name: str | None = None,
        *,
        differentiable: bool = False,
    ) -> None:
        super().__init__(learning_rate, parameters, weight_decay, grad_clip, name, differentiable=differentiable)
        self._take(beta1=beta1, beta2=beta2, epsilon=epsilon, momentum_decay=momentum_decay)

    def _set(self, *, momentum_decay: Any = 0.0, **options: Any) -> None:
        super()._set(**options)
        fused.at_least("NAdam", 0, momentum_decay=momentum_decay)
        self._momentum_decay = self._number(momentum_decay)

    def _powers(self) -> dict[str, float]:
        return {"momentum_decay_pow": 0.96, "beta2_pow": self._betas[1]}

    def _fg_update(self, p: Tensor, g: Tensor, rate: fused.Rate, decay: float) -> None:
        rules.nadam(
            p,
            rules.decayed(p, g, decay),
            self._state[p],
            rate=rate,
            betas=self._betas,
            epsilon=self._epsilon,
            momentum_decay=self._momentum_decay,
        )


class RAdam(_WithBetas):
    """Rectified Adam: L. Liu et al., "On the variance of the adaptive learning rate and beyond" (2020)."""

    _derived = ("rho",)

    def __init__(
        self,
        learning_rate: Rate = 0.001,
        beta1: float | Tensor = 0.9,
        beta2: float | Tensor = 0.999,
        epsilon: float = 1e-8,
        parameters: Parameters = None,
        weight_decay: Decay = None,
        grad_clip: Clip | None = None,
        name: str | None = None,
        *,
        differentiable: bool = False,
    ) -> None:
        super().__init__(learning_rate, parameters, weight_decay, grad_clip, name, differentiable=differentiable)
        self._take(beta1=beta1, beta2=beta2, epsilon=epsilon)

    def _powers(self) -> dict[str, float]:
        return {"beta1_pow": self._betas[0], "beta2_pow": self._betas[1]}

    def _to_accumulators(self, state: fused.State, p: Tensor) -> dict[str, Any]:
        found = super()._to_accumulators(state, p)
        power = accumulators.base(p, self._betas[1]) ** state["step"]
        found["rho"] = accumulators.full(p, state["step"] * power / (1 - power) if power < 1 else 0.0, p.shape)
        return found

    def _fg_update(self, p: Tensor, g: Tensor, rate: fused.Rate, decay: float) -> None:
        g = rules.decayed(p, g, decay)
        rules.radam(p, g, self._state[p], rate=rate, betas=self._betas, epsilon=self._epsilon)


class Lamb(_WithBetas):
    """Adam with a rate for each layer: Y. You et al., "Large batch optimization for deep learning" (2020).

    A parameter ``p`` with ``exclude_from_weight_decay_fn(p)`` does not decay. One that does not decay gets the plain
    rate unless ``always_adapt``.
    """

    def __init__(
        self,
        learning_rate: Rate = 0.001,
        lamb_weight_decay: float = 0.01,
        beta1: float | Tensor = 0.9,
        beta2: float | Tensor = 0.999,
        epsilon: float | Tensor = 1e-6,
        parameters: Parameters = None,
        grad_clip: Clip | None = None,
        exclude_from_weight_decay_fn: Callable[[Tensor], bool] | None = None,
        multi_precision: bool = False,
        always_adapt: bool = False,
        name: str | None = None,
        *,
        differentiable: bool = False,
    ) -> None:
        super().__init__(learning_rate, parameters, None, grad_clip, name, differentiable=differentiable)
        self._multi_precision, self._adapts = multi_precision, always_adapt
        self._take(
            beta1=beta1,
            beta2=beta2,
            epsilon=epsilon,
            lamb_weight_decay=lamb_weight_decay,
            exclude_from_weight_decay_fn=exclude_from_weight_decay_fn,
        )

    def _set(self, *, lamb_weight_decay: float = 0.0, exclude_from_weight_decay_fn: Any = None, **options: Any) -> None:
        super()._set(**options)
        fused.at_least("Lamb", 0, lamb_weight_decay=lamb_weight_decay)
        self._fg_decay, self._excludes = lamb_weight_decay, exclude_from_weight_decay_fn

    def _powers(self) -> dict[str, float]:
        return {"beta1_pow_acc": self._betas[0], "beta2_pow_acc": self._betas[1]}

    def _fg_update(self, p: Tensor, g: Tensor, rate: fused.Rate, decay: float) -> None:
        rules.lamb(
            p,
            rules.decayed(p, g, decay),
            self._state[p],
            rate=rate,
            betas=self._betas,
            epsilon=self._epsilon,
            decay=0.0 if self._excludes is not None and self._excludes(p) else self._fg_decay,
            adapts=self._adapts,
        )


class RMSProp(Optimizer):
    """Steps over the root of the mean square gradient: T. Tieleman, G. Hinton, lecture 6.5 (2012).

    ``centered`` takes the variance of the gradient in place of the mean square.
    """

    _accumulators: Mapping[str, str] = {
        "momentum_buffer": "momentum",
        "square_avg": "mean_square",
        "grad_avg": "mean_grad",
    }

    def __init__(
        self,
        learning_rate: Rate,
        rho: float = 0.95,
        epsilon: float = 1e-6,
        momentum: float = 0.0,
        centered: bool = False,
        parameters: Parameters = None,
        weight_decay: Decay = None,
        grad_clip: Clip | None = None,
        name: str | None = None,
        *,
        differentiable: bool = False,
    ) -> None:
        super().__init__(learning_rate, parameters, weight_decay, grad_clip, name, differentiable=differentiable)
        self._take(rho=rho, epsilon=epsilon, momentum=momentum, centered=centered)

    def _set(self, *, rho: Any, epsilon: Any, momentum: Any, centered: bool) -> None:
        fused.at_least("RMSProp", 0, rho=rho, epsilon=epsilon, momentum=momentum)
        self._options: dict[str, Any] = {
            "smoothing": self._number(rho),
            "epsilon": self._number(epsilon),
            "momentum": self._number(momentum),
            "centered": centered,
        }

    def _fg_update(self, p: Tensor, g: Tensor, rate: fused.Rate, decay: float) -> None:
        rules.rmsprop(p, rules.decayed(p, g, decay), self._state[p], rate=rate, inside=True, **self._options)


class Adagrad(Optimizer):
    """Steps over the root of the sum of squared gradients: J. Duchi, E. Hazan, Y. Singer (2011)."""

    _accumulators: Mapping[str, str] = {"sum": "moment"}

    def __init__(
        self,
        learning_rate: Rate,
        epsilon: float = 1e-6,
        parameters: Parameters = None,
        weight_decay: Decay = None,
        grad_clip: Clip | None = None,
        name: str | None = None,
        initial_accumulator_value: float = 0.0,
        *,
        differentiable: bool = False,
    ) -> None:
        super().__init__(learning_rate, parameters, weight_decay, grad_clip, name, differentiable=differentiable)
        self._take(epsilon=epsilon, initial_accumulator_value=initial_accumulator_value)

    def _set(self, *, epsilon: Any, initial_accumulator_value: Any) -> None:
        fused.at_least("Adagrad", 0, epsilon=epsilon, initial_accumulator_value=initial_accumulator_value)
        self._epsilon, self._initial = self._number(epsilon), self._number(initial_accumulator_value)

    def _fg_update(self, p: Tensor, g: Tensor, rate: fused.Rate, decay: float) -> None:
        g = rules.decayed(p, g, decay)
        rules.adagrad(p, g, self._state[p], rate=rate, rate_decay=0.0, epsilon=self._epsilon, initial=self._initial)


class Adadelta(Optimizer):
    """Steps in proportion to the steps before: M. Zeiler, "Adadelta: an adaptive learning rate method" (2012)."""

    _accumulators: Mapping[str, str] = {
        "square_avg": "_avg_squared_grad",
        "acc_delta": "_avg_squared_update",
    }

    def __init__(
        self,
        learning_rate: Rate = 0.001,
        epsilon: float = 1e-6,
        rho: float = 0.95,
        parameters: Parameters = None,
        weight_decay: Decay = None,
        grad_clip: Clip | None = None,
        name: str | None = None,
        *,
        differentiable: bool = False,
    ) -> None:
        super().__init__(learning_rate, parameters, weight_decay, grad_clip, name, differentiable=differentiable)
        self._take(epsilon=epsilon, rho=rho)

    def _set(self, *, epsilon: Any, rho: Any) -> None:
        fused.at_least("Adadelta", 0, epsilon=epsilon, rho=rho)
        self._epsilon, self._smoothing = self._number(epsilon), self._number(rho)

    def _fg_update(self, p: Tensor, g: Tensor, rate: fused.Rate, decay: float) -> None:
        g = rules.decayed(p, g, decay)
        rules.adadelta(p, g, self._state[p], rate=rate, smoothing=self._smoothing, epsilon=self._epsilon)
