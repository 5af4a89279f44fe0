"""torch's optimizers that adapt the step of each element to its gradients."""

from __future__ import annotations

from typing import Any

from ferrograd._core import ArgumentError, Tensor
from ferrograd._optim import fused as _fused, rules
from ferrograd._optim.states import has_no_numbers, state_of
from ferrograd.torch.optim._options import cycle_of, given, rate_of
from ferrograd.torch.optim.optimizer import Optimizer, Params

__all__ = ["Adadelta", "Adafactor", "Adagrad", "Adam", "AdamW", "Adamax", "NAdam", "RAdam", "RMSprop", "SparseAdam"]


class _WithBetas(Optimizer):
    """An optimizer with means of gradients and of their squares."""

    def _fg_check(self, group: dict[str, Any]) -> None:
        name, betas = type(self).__name__, group["betas"]
        if not isinstance(betas, tuple | list) or len(betas) != 2:
            raise ArgumentError(f"{name}: betas must be a pair of numbers, not {betas!r:.60}")
        beta1, beta2 = betas
        _fused.at_least(name, 0, **{"learning rate": group["lr"], "epsilon value": group["eps"]})
        _fused.at_least(name, 0, 1, **{"beta parameter at index 0": beta1, "beta parameter at index 1": beta2})
        _fused.at_least(name, 0, **{"weight_decay value": group["weight_decay"]})

    def _fg_decay(self, p: Tensor, g: Tensor, group: dict[str, Any]) -> Tensor:
        """The gradient with the penalty of the weights; a decoupled penalty is applied to the parameter."""
        if not group.get("decoupled_weight_decay"):
            return rules.decayed(p, g, group["weight_decay"])
        rate = rate_of(group)
        (shrink,) = _fused.numbers(p, {}, lambda: (1 - rate() * group["weight_decay"],))
        p.mul_(shrink)
        return g


def _check_tensors(lr: Any, betas: Any, is_one_by_one: bool) -> None:
    """Raises for options of Adam that are tensors where PyTorch takes none."""
    pair = list(betas) if isinstance(betas, tuple | list) else []
    if len({isinstance(beta, Tensor) for beta in pair}) > 1:
        raise ArgumentError("betas must be either both floats or both Tensors")
    for name, value in (("lr", lr), *((f"betas[{i}]", beta) for i, beta in enumerate(pair))):
        if isinstance(value, Tensor) and not is_one_by_one:
            raise ArgumentError(f"{name} as a Tensor is not supported for capturable=False and foreach=True")
        if isinstance(value, Tensor) and value.numel() != 1:
            raise ArgumentError(f"Tensor {name} must be 1-element")


class Adam(_WithBetas):
    """Adam: D. Kingma, J. Ba, "Adam: a method for stochastic optimization" (2015)."""

    _fg_kept = ("step", "exp_avg", "exp_avg_sq")
    _fg_may_keep = ("max_exp_avg_sq",)
    _fg_takes_cycles = True

    def __init__(
        self,
        params: Params,
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        amsgrad: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
        decoupled_weight_decay: bool = False,
    ) -> None:
        _check_tensors(lr, betas, is_one_by_one=not foreach or capturable)
        super().__init__(params, given(locals()))

    def _fg_update(self, p: Tensor, g: Tensor, group: dict[str, Any]) -> None:
        _fused.adam(
            p,
            g,
            state_of(self.state, p),
            rate=rate_of(group),
            betas=group["betas"],
            epsilon=group["eps"],
            decay=group["weight_decay"],
            decoupled=group["decoupled_weight_decay"],
            largest=group["amsgrad"],
            cycle=cycle_of(group),
        )


class AdamW(Adam):
    """Adam with decoupled weight decay: I. Loshchilov, F. Hutter (2019)."""

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
        foreach: bool | None = None,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        super().__init__(params, **given(locals()), decoupled_weight_decay=True)


class Adamax(_WithBetas):
    """Adam with the largest gradient in place of the root of the mean square: D. Kingma, J. Ba (2015)."""

    _fg_kept = ("step", "exp_avg", "exp_inf")

    def __init__(
        self,
        params: Params,
        lr: float = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        super().__init__(params, given(locals()))

    def _fg_update(self, p: Tensor, g: Tensor, group: dict[str, Any]) -> None:
        rules.adamax(
            p,
            self._fg_decay(p, g, group),
            state_of(self.state, p),
            rate=rate_of(group),
            betas=group["betas"],
            epsilon=group["eps"],
            to_norm=False,
        )


class NAdam(_WithBetas):
    """Adam with Nesterov's momentum: T. Dozat, "Incorporating Nesterov momentum into Adam" (2016)."""

    _fg_kept = ("step", "exp_avg", "exp_avg_sq", "mu_product")

    def __init__(
        self,
        params: Params,
        lr: float = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum_decay: float = 4e-3,
        decoupled_weight_decay: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
    ) -> None:
        super().__init__(params, given(locals()))

    def _fg_check(self, group: dict[str, Any]) -> None:
        super()._fg_check(group)
        _fused.at_least("NAdam", 0, **{"momentum_decay value": group["momentum_decay"]})

    def _fg_update(self, p: Tensor, g: Tensor, group: dict[str, Any]) -> None:
        rules.nadam(
            p,
            self._fg_decay(p, g, group),
            state_of(self.state, p),
            rate=rate_of(group),
            betas=group["betas"],
            epsilon=group["eps"],
            momentum_decay=group["momentum_decay"],
        )


class RAdam(_WithBetas):
    """Rectified Adam: L. Liu et al., "On the variance of the adaptive learning rate and beyond" (2020)."""

    _fg_kept = ("step", "exp_avg", "exp_avg_sq")

    def __init__(
        self,
        params: Params,
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        decoupled_weight_decay: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
    ) -> None:
        super().__init__(params, given(locals()))

    def _fg_update(self, p: Tensor, g: Tensor, group: dict[str, Any]) -> None:
        g = self._fg_decay(p, g, group)
        rules.radam(p, g, state_of(self.state, p), rate=rate_of(group), betas=group["betas"], epsilon=group["eps"])


class RMSprop(Optimizer):
    """Steps over the root of the mean square gradient: T. Tieleman, G. Hinton, lecture 6.5 (2012).

    ``centered`` takes the variance of the gradient in place of the mean square.
    """

    _fg_kept = ("step", "square_avg")
    _fg_may_keep = ("momentum_buffer", "grad_avg")

    def __init__(
        self,
        params: Params,
        lr: float = 1e-2,
        alpha: float = 0.99,
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum: float = 0,
        centered: bool = False,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        super().__init__(params, given(locals()))

    def _fg_check(self, group: dict[str, Any]) -> None:
        _fused.at_least("RMSprop", 0, **{"learning rate": group["lr"], "epsilon value": group["eps"]})
        _fused.at_least("RMSprop", 0, **{"momentum value": group["momentum"], "alpha value": group["alpha"]})
        _fused.at_least("RMSprop", 0, **{"weight_decay value": group["weight_decay"]})

    def _fg_update(self, p: Tensor, g: Tensor, group: dict[str, Any]) -> None:
        rules.rmsprop(
            p,
            rules.decayed(p, g, group["weight_decay"]),
            state_of(self.state, p),
            rate=rate_of(group),
            smoothing=group["alpha"],
            epsilon=group["eps"],
            momentum=group["momentum"],
            centered=group["centered"],
            inside=False,
        )


class Adagrad(Optimizer):
    """Steps over the root of the sum of squared gradients: J. Duchi, E. Hazan, Y. Singer (2011)."""

    _fg_kept = ("step", "sum")

    def __init__(
        self,
        params: Params,
        lr: float = 1e-2,
        lr_decay: float = 0,
        weight_decay: float = 0,
        initial_accumulator_value: float = 0,
        eps: float = 1e-10,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        super().__init__(params, given(locals()))
        for group in self.param_groups:
            for p in group["params"]:
                if not has_no_numbers(p):
                    rules.begin_adagrad(p, state_of(self.state, p), group["initial_accumulator_value"])

    def _fg_check(self, group: dict[str, Any]) -> None:
        _fused.at_least("Adagrad", 0, **{"learning rate": group["lr"], "lr_decay value": group["lr_decay"]})
        _fused.at_least("Adagrad", 0, **{"weight_decay value": group["weight_decay"], "epsilon value": group["eps"]})
        start = group["initial_accumulator_value"]
        _fused.at_least("Adagrad", 0, **{"initial_accumulator_value value": start})

    def _fg_update(self, p: Tensor, g: Tensor, group: dict[str, Any]) -> None:
        rules.adagrad(
            p,
            rules.decayed(p, g, group["weight_decay"]),
            state_of(self.state, p),
            rate=rate_of(group),
            rate_decay=group["lr_decay"],
            epsilon=group["eps"],
            initial=group["initial_accumulator_value"],
        )


class Adadelta(Optimizer):
    """Steps in proportion to the steps before: M. Zeiler, "Adadelta: an adaptive learning rate method" (2012)."""

    _fg_kept = ("step", "square_avg", "acc_delta")

    def __init__(
        self,
        params: Params,
        lr: float = 1.0,
        rho: float = 0.9,
        eps: float = 1e-6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        capturable: bool = False,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        super().__init__(params, given(locals()))

    def _fg_check(self, group: dict[str, Any]) -> None:
        _fused.at_least("Adadelta", 0, **{"learning rate": group["lr"], "epsilon value": group["eps"]})
        _fused.at_least("Adadelta", 0, **{"rho value": group["rho"], "weight_decay value": group["weight_decay"]})
        if group["rho"] > 1:
            raise ArgumentError(f"Invalid rho value: {group['rho']}")

    def _fg_update(self, p: Tensor, g: Tensor, group: dict[str, Any]) -> None:
        g = rules.decayed(p, g, group["weight_decay"])
        rules.adadelta(p, g, state_of(self.state, p), rate=rate_of(group), smoothing=group["rho"], epsilon=group["eps"])


class Adafactor(Optimizer):
    """Adam with means of squares by row and column: N. Shazeer, M. Stern, "Adafactor" (2018)."""

    _fg_takes_complex = False
    _fg_kept = ("step",)
    _fg_may_keep = ("variance",)

    def __init__(
        self,
        params: Params,
        lr: float = 1e-2,
        beta2_decay: float = -0.8,
        eps: tuple[float | None, float] = (None, 1e-3),
        d: float = 1.0,
        weight_decay: float = 0.0,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        super().__init__(params, given(locals()))

    def _fg_check(self, group: dict[str, Any]) -> None:
        _fused.at_least("Adafactor", 0, **{"learning rate": group["lr"], "weight_decay": group["weight_decay"]})
        for name, number in (("epsilon1", group["eps"][0] or 0), ("epsilon2", group["eps"][1])):
            if not number >= 0:
                raise ArgumentError(f"Adafactor: {name} should be >= 0 but is: {number}")
        if not group["d"] >= 1:
            raise ArgumentError(f"Adafactor: Clipping threshold d should be >= 1 but is: {group['d']}")
        if not group["beta2_decay"] <= 0:
            raise ArgumentError(f"beta2_decay should be <= 0 but is: {group['beta2_decay']}")

    def _fg_update(self, p: Tensor, g: Tensor, group: dict[str, Any]) -> None:
        rules.adafactor(
            p,
            g,
            state_of(self.state, p),
            rate=rate_of(group),
            beta2_decay=group["beta2_decay"],
            epsilons=group["eps"],
            threshold=group["d"],
            decay=group["weight_decay"],
        )


class SparseAdam(_WithBetas):
    """Adam that changes only the rows of a parameter whose gradient is not zero, as of an embedding.

    Gradients are dense here. In torch these rows are those of a sparse gradient, which may hold zeros.
    """

    _fg_numbers = ()
    _fg_takes_complex = False
    _fg_kept = ("step", "exp_avg", "exp_avg_sq")

    def __init__(
        self,
        params: Params,
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        maximize: bool = False,
        *,
        differentiable: bool = False,
    ) -> None:
        super().__init__(params, given(locals()))

    def _fg_check(self, group: dict[str, Any]) -> None:
        super()._fg_check({**group, "weight_decay": 0})
        if any(p.dtype.kind == "c" for p in group.get("params", ())):
            raise ArgumentError("SparseAdam does not support complex parameters")

    def _fg_update(self, p: Tensor, g: Tensor, group: dict[str, Any]) -> None:
        rules.sparse_adam(
            p, g, state_of(self.state, p), rate=rate_of(group), betas=group["betas"], epsilon=group["eps"]
        )
