"""``paddle.optimizer.lr``: schedules that an optimizer takes as its learning rate.

>>> import ferrograd.paddle as paddle
>>> w = paddle.to_tensor([4.0], stop_gradient=False)
>>> scheduler = paddle.optimizer.lr.StepDecay(1.0, step_size=2, gamma=0.5)
>>> optimizer = paddle.optimizer.SGD(scheduler, parameters=[w])
>>> for _ in range(4):
...     print(optimizer.get_lr())
...     scheduler.step()
1.0
1.0
0.5
0.5
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from ferrograd import _core
from ferrograd._core import ArgumentError, Tensor
from ferrograd._kit import public as _public
from ferrograd._kit.warning import warn
from ferrograd._optim import schedules
from ferrograd._optim.fused import NOT_TRACED, counts

__all__ = [
    "CosineAnnealingDecay",
    "CosineAnnealingWarmRestarts",
    "CyclicLR",
    "ExponentialDecay",
    "InverseTimeDecay",
    "LRScheduler",
    "LambdaDecay",
    "LinearLR",
    "LinearWarmup",
    "MultiStepDecay",
    "MultiplicativeDecay",
    "NaturalExpDecay",
    "NoamDecay",
    "OneCycleLR",
    "PiecewiseDecay",
    "PolynomialDecay",
    "ReduceOnPlateau",
    "StepDecay",
    "noam_decay",
    "polynomial_decay",
]


def _number(name: str, value: Any, least: float | None = None) -> None:
    """Raises unless a value is a number, and at least ``least``."""
    if not isinstance(value, float | int):
        raise TypeError(f"The type of {name!r} must be 'float' or 'int', but received {type(value)}.")
    if least is not None and not value >= least:
        raise ValueError(f"{name!r} must be at least {least:g}, but received {value}.")


def _count(name: str, value: Any) -> None:
    """Raises unless a value is a positive integer."""
    if not isinstance(value, int):
        raise TypeError(f"The type of {name!r} must be 'int', but received {type(value)}.")
    if value <= 0:
        raise ValueError(f"{name!r} must be a positive integer, but received {value}.")


def _true(right: bool, text: str) -> None:
    if not right:
        raise AssertionError(text)


def _function(kind: object, value: Any) -> None:
    if not callable(value):
        name = type(kind).__name__
        raise TypeError(f"The type of 'lr_lambda' in '{name}' must be 'function', but received {type(value)}.")


class LRScheduler:
    """The base of schedules. A subclass has ``get_lr``, the rate at ``last_epoch``; calling it gives the last rate."""

    def __init__(self, learning_rate: float = 0.1, last_epoch: int = -1, verbose: bool = False) -> None:
        if not isinstance(learning_rate, float | int):
            raise TypeError(f"The type of learning rate must be float, but received {type(learning_rate)}")
        if learning_rate < 0:
            raise ValueError(f"Invalid learning rate: {learning_rate}")
        self.base_lr = float(learning_rate)
        self.last_lr = float(learning_rate)
        self.last_epoch = last_epoch
        self.verbose = verbose
        self.step()

    def __call__(self) -> float:
        """The rate that the last step gave."""
        return self.last_lr

    @counts
    def step(self, epoch: int | None = None) -> None:
        """Goes to the next epoch, or to the one given, and computes the rate."""
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        closed = None if epoch is None else getattr(self, "_get_closed_form_lr", None)
        self.last_lr = closed() if closed else self.get_lr()
        self._tell()

    def _tell(self) -> None:
        if self.verbose:
            print(f"Epoch {self.last_epoch}: {type(self).__name__} set learning rate to {self.last_lr}.")

    def get_lr(self) -> float:
        """The rate at ``last_epoch``."""
        raise NotImplementedError

    def state_keys(self) -> None:
        """Sets ``keys``, the names of the attributes that :meth:`state_dict` saves."""
        self.keys = ["last_epoch", "last_lr"]

    def state_dict(self) -> dict[str, Any]:
        """The attributes that change."""
        self.state_keys()
        found = {key: vars(self)[key] for key in self.keys if key in vars(self)}
        return {key: float(value) if isinstance(value, Tensor) else value for key, value in found.items()}

    @schedules.all_or_nothing
    def set_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Loads a :meth:`state_dict`."""
        self.state_keys()
        for key in self.keys:
            if key not in state_dict:
                raise RuntimeError(
                    f"Please check whether state_dict is correct for optimizer. Can't find [ {key} ] in state_dict"
                )
            vars(self)[key] = state_dict[key]
        if len(state_dict) > len(self.keys):
            warn(
                "There are some unused values in state_dict. Maybe the optimizer have different 'LearningRateDecay' "
                "when invoking state_dict and set_dict"
            )

    def set_dict(self, state_dict: dict[str, Any]) -> None:
        """Loads a :meth:`state_dict`."""
        self.set_state_dict(state_dict)


class NoamDecay(LRScheduler):
    """Up on a line for ``warmup_steps``, then down as the inverse root of the epoch.

    Source: A. Vaswani et al., "Attention is all you need" (2017).
    """

    def __init__(
        self,
        d_model: int,
        warmup_steps: int,
        learning_rate: float = 1.0,
        last_epoch: int = -1,
        verbose: bool = False,
    ) -> None:
        if d_model <= 0:
            raise ValueError("d_model should be grater than 0")
        self.d_model = d_model
        self.warmup_steps = warmup_steps
        super().__init__(learning_rate, last_epoch, verbose)

    def get_lr(self) -> float:
        """The rate at ``last_epoch``."""
        rise = self.warmup_steps**-1.5 * self.last_epoch
        fall = self.last_epoch**-0.5 if self.last_epoch else 1
        return float(self.base_lr * self.d_model**-0.5 * min(fall, rise))


def noam_decay(d_model: int, warmup_steps: int, learning_rate: float = 1.0) -> NoamDecay:
    """:class:`NoamDecay`, under the name of older programs."""
    return NoamDecay(d_model, warmup_steps, learning_rate)


class PiecewiseDecay(LRScheduler):
    """``values[i]`` before the boundary i, and the last of the values after all of them."""

    def __init__(
        self, boundaries: Sequence[int], values: Sequence[float], last_epoch: int = -1, verbose: bool = False
    ) -> None:
        if len(boundaries) == 0:
            raise ValueError("The boundaries cannot be empty.")
        if len(values) <= len(boundaries):
            raise ValueError(
                "The values have one more element than boundaries, but received len(values) "
                f"[{len(values)}] < len(boundaries) + 1 [{len(boundaries) + 1}]."
            )
        self.boundaries = boundaries
        self.values = values
        super().__init__(last_epoch=last_epoch, verbose=verbose)

    def get_lr(self) -> float:
        """The rate at ``last_epoch``."""
        passed = next((i for i, b in enumerate(self.boundaries) if self.last_epoch < b), len(self.values) - 1)
        return self.values[passed]


class NaturalExpDecay(LRScheduler):
    """The rate times ``exp(-gamma * epoch)``."""

    def __init__(self, learning_rate: float, gamma: float, last_epoch: int = -1, verbose: bool = False) -> None:
        _true(gamma > 0, " 'gamma' must be a positive number so that the learning rate will decay.")
        self.gamma = gamma
        super().__init__(learning_rate, last_epoch, verbose)

    def get_lr(self) -> float:
        """The rate at ``last_epoch``."""
        return self.base_lr * math.exp(-self.gamma * self.last_epoch)


class InverseTimeDecay(LRScheduler):
    """The rate over ``1 + gamma * epoch``."""

    def __init__(self, learning_rate: float, gamma: float, last_epoch: int = -1, verbose: bool = False) -> None:
        self.gamma = gamma
        super().__init__(learning_rate, last_epoch, verbose)

    def get_lr(self) -> float:
        """The rate at ``last_epoch``."""
        return self.base_lr / (1 + self.gamma * self.last_epoch)


class PolynomialDecay(LRScheduler):
    """From the rate to ``end_lr`` as ``(1 - epoch / decay_steps) ** power``.

    With ``cycle`` it begins again from a lower rate, with longer and longer periods.
    """

    def __init__(
        self,
        learning_rate: float,
        decay_steps: int,
        end_lr: float = 0.0001,
        power: float = 1.0,
        cycle: bool = False,
        last_epoch: int = -1,
        verbose: bool = False,
    ) -> None:
        _true(isinstance(decay_steps, int) and decay_steps > 0, " 'decay_steps' must be a positive integer.")
        _true(power > 0, " 'power' must be greater than 0.0 so that the learning rate will decay.")
        self.decay_steps = decay_steps
        self.end_lr = end_lr
        self.power = power
        self.cycle = cycle
        super().__init__(learning_rate, last_epoch, verbose)

    def get_lr(self) -> float:
        """The rate at ``last_epoch``."""
        epoch, total = self.last_epoch, self.decay_steps
        if self.cycle:
            total *= math.ceil(epoch / total) or 1
        else:
            epoch = min(epoch, total)
        return float((self.base_lr - self.end_lr) * (1 - epoch / total) ** self.power + self.end_lr)


def polynomial_decay(
    learning_rate: float,
    decay_steps: int,
    end_learning_rate: float = 0.0001,
    power: float = 1.0,
    cycle: bool = False,
) -> PolynomialDecay:
    """:class:`PolynomialDecay`, under the name of older programs.

    Raises:
        ArgumentError: ``decay_steps`` is not a positive integer, or ``power`` is not positive.
    """
    try:
        return PolynomialDecay(learning_rate, decay_steps, end_learning_rate, power, cycle)
    except AssertionError as error:
        raise ArgumentError(f"polynomial_decay:{error}") from None


class LinearWarmup(LRScheduler):
    """From ``start_lr`` to ``end_lr`` on a line in ``warmup_steps``, then ``learning_rate``, a number or a schedule."""

    def __init__(
        self,
        learning_rate: float | LRScheduler,
        warmup_steps: int,
        start_lr: float,
        end_lr: float,
        last_epoch: int = -1,
        verbose: bool = False,
    ) -> None:
        if not isinstance(learning_rate, float | int | LRScheduler):
            raise TypeError(
                f"the type of learning_rate should be [int, float or LRScheduler], the current type is {learning_rate}"
            )
        _true(isinstance(warmup_steps, int) and warmup_steps > 0, " 'warmup_steps' must be a positive integer.")
        _true(end_lr > start_lr, f"end_lr {end_lr} must be greater than start_lr {start_lr}")
        self.learning_rate = learning_rate
        self.warmup_steps = warmup_steps
        self.start_lr = start_lr
        self.end_lr = end_lr
        super().__init__(start_lr, last_epoch, verbose)

    def state_dict(self) -> dict[str, Any]:
        """The attributes that change, and those of the schedule that follows."""
        found = super().state_dict()
        if isinstance(self.learning_rate, LRScheduler):
            found["LinearWarmup_LR"] = self.learning_rate.state_dict()
        return found

    @schedules.all_or_nothing
    def set_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Loads a :meth:`state_dict`."""
        super().set_state_dict({key: value for key, value in state_dict.items() if key != "LinearWarmup_LR"})
        if isinstance(self.learning_rate, LRScheduler):
            self.learning_rate.set_state_dict(state_dict["LinearWarmup_LR"])

    def get_lr(self) -> float:
        """The rate at ``last_epoch``."""
        if self.last_epoch < self.warmup_steps:
            return (self.end_lr - self.start_lr) * float(self.last_epoch) / float(self.warmup_steps) + self.start_lr
        if isinstance(self.learning_rate, LRScheduler):
            self.learning_rate.step(self.last_epoch - self.warmup_steps)
            return self.learning_rate()
        return self.learning_rate


class ExponentialDecay(LRScheduler):
    """The rate times ``gamma ** epoch``."""

    def __init__(self, learning_rate: float, gamma: float, last_epoch: int = -1, verbose: bool = False) -> None:
        _true(0 < gamma < 1, " 'gamma' must be in interval (0.0, 1.0) so that the learning rate will decay.")
        self.gamma = gamma
        super().__init__(learning_rate, last_epoch, verbose)

    def get_lr(self) -> float:
        """The rate at ``last_epoch``."""
        return float(self.base_lr * self.gamma**self.last_epoch)


class MultiStepDecay(LRScheduler):
    """The rate times ``gamma`` at each of the ``milestones``."""

    def __init__(
        self,
        learning_rate: float,
        milestones: Sequence[int],
        gamma: float = 0.1,
        last_epoch: int = -1,
        verbose: bool = False,
    ) -> None:
        if not isinstance(milestones, tuple | list):
            raise TypeError(
                f"The type of 'milestones' in 'MultiStepDecay' must be 'tuple, list', but received {type(milestones)}."
            )
        if any(a >= b for a, b in pairwise(milestones)):
            raise ValueError("The elements of milestones must be incremented")
        if gamma >= 1:
            raise ValueError("gamma should be < 1.0.")
        self.milestones = milestones
        self.gamma = gamma
        super().__init__(learning_rate, last_epoch, verbose)

    def get_lr(self) -> float:
        """The rate at ``last_epoch``."""
        return float(self.base_lr * self.gamma ** bisect_right(self.milestones, self.last_epoch))


class StepDecay(LRScheduler):
    """The rate times ``gamma`` every ``step_size`` epochs."""

    def __init__(
        self, learning_rate: float, step_size: int, gamma: float = 0.1, last_epoch: int = -1, verbose: bool = False
    ) -> None:
        if not isinstance(step_size, int):
            raise TypeError(f"The type of 'step_size' must be 'int', but received {type(step_size)}.")
        if gamma >= 1:
            raise ValueError("gamma should be < 1.0.")
        _true(step_size > 0, " 'step_size' must be a positive integer.")
        self.step_size = step_size
        self.gamma = gamma
        super().__init__(learning_rate, last_epoch, verbose)

    def get_lr(self) -> float:
        """The rate at ``last_epoch``."""
        return float(self.base_lr * self.gamma ** (self.last_epoch // self.step_size))


class LambdaDecay(LRScheduler):
    """The rate times a function of the epoch."""

    def __init__(
        self, learning_rate: float, lr_lambda: Callable[[int], float], last_epoch: int = -1, verbose: bool = False
    ) -> None:
        _function(self, lr_lambda)
        self.lr_lambda = lr_lambda
        super().__init__(learning_rate, last_epoch, verbose)

    def get_lr(self) -> float:
        """The rate at ``last_epoch``."""
        return self.base_lr * self.lr_lambda(self.last_epoch)


class MultiplicativeDecay(LRScheduler):
    """The rate times a function of each epoch so far."""

    def __init__(
        self, learning_rate: float, lr_lambda: Callable[[int], float], last_epoch: int = -1, verbose: bool = False
    ) -> None:
        _function(self, lr_lambda)
        self.lr_lambda = lr_lambda
        super().__init__(learning_rate, last_epoch, verbose)

    def get_lr(self) -> float:
        """The rate at ``last_epoch``."""
        rate = self.base_lr
        for epoch in range(1, self.last_epoch + 1):
            rate = rate * self.lr_lambda(epoch)
        return rate


class ReduceOnPlateau(LRScheduler):
    """The rate times ``factor`` when a metric has not become better for ``patience`` epochs.

    Better is smaller, or larger with ``mode="max"``, by at least ``threshold``, which is relative unless
    ``threshold_mode="abs"``. After that ``cooldown`` epochs do not count. A change of ``epsilon`` or less is not made.
    """

    def __init__(
        self,
        learning_rate: float,
        mode: str = "min",
        factor: float = 0.1,
        patience: int = 10,
        threshold: float = 1e-4,
        threshold_mode: str = "rel",
        cooldown: int = 0,
        min_lr: float = 0,
        epsilon: float = 1e-8,
        verbose: bool = False,
    ) -> None:
        if mode.lower() not in ("min", "max"):
            raise ValueError(f"mode: {mode} is unknown!")
        if factor >= 1.0:
            raise ValueError("new_lr = origin_lr * gamma and gamma should be < 1.0.")
        if threshold_mode.lower() not in ("rel", "abs"):
            raise ValueError(f"threshold mode: {threshold_mode} is unknown!")
        _number("learning_rate", learning_rate)
        self.mode = mode.lower()
        self.factor = factor
        self.patience = patience
        self.threshold = threshold
        self.threshold_mode = threshold_mode.lower()
        self.cooldown = cooldown
        self.min_lr = min_lr
        self.epsilon = epsilon
        self.cooldown_counter = 0
        self.best: float | None = None
        self.num_bad_epochs = 0
        self.base_lr = float(learning_rate)
        self.last_lr = float(learning_rate)
        self.last_epoch = 0
        self.verbose = verbose

    def state_keys(self) -> None:
        """Sets ``keys``, the names of the attributes that ``state_dict`` saves."""
        self.keys = ["cooldown_counter", "best", "num_bad_epochs", "last_epoch", "last_lr"]

    def step(self, metrics: Any, epoch: int | None = None) -> None:  # type: ignore[override]
        """Takes the metric of an epoch, a number or a tensor or array of one element, and computes the rate."""
        _core.give_up_trace(NOT_TRACED)
        if isinstance(metrics, Tensor | np.ndarray):
            size = metrics.size
            _true(
                size == 1,
                f"the size of metrics must be 1, but the current metrics.size is {size}. Maybe that you should call "
                "paddle.mean to process it first.",
            )
        elif not isinstance(metrics, int | float | np.floating):
            raise TypeError(
                "metrics must be 'int', 'float', 'np.float64', 'numpy.ndarray' or 'paddle.Tensor', but receive "
                f"{type(metrics)}"
            )
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        current = float(metrics.item() if isinstance(metrics, Tensor | np.ndarray) else metrics)
        if self.cooldown_counter > 0:
            self.cooldown_counter -= 1
            return
        if self.best is None or self._is_better(current, self.best):
            self.best = current
            self.num_bad_epochs = 0
        else:
            self.num_bad_epochs += 1
        if self.num_bad_epochs > self.patience:
            self.cooldown_counter = self.cooldown
            self.num_bad_epochs = 0
            new = max(self.last_lr * self.factor, self.min_lr)
            if self.last_lr - new > self.epsilon:
                self.last_lr = new
                self._tell()

    def _is_better(self, current: float, best: float) -> bool:
        margin = best * self.threshold if self.threshold_mode == "rel" else self.threshold
        return current < best - margin if self.mode == "min" else current > best + margin


class CosineAnnealingDecay(LRScheduler):
    """From the rate to ``eta_min`` along half a cosine in ``T_max`` epochs, and back.

    Source: I. Loshchilov, F. Hutter, "SGDR: stochastic gradient descent with warm restarts" (2017).
    """

    def __init__(
        self, learning_rate: float, T_max: int, eta_min: float = 0, last_epoch: int = -1, verbose: bool = False
    ) -> None:
        name = type(self).__name__
        if not isinstance(T_max, int):
            raise TypeError(f"The type of 'T_max' in '{name}' must be 'int', but received {type(T_max)}.")
        if not isinstance(eta_min, float | int):
            raise TypeError(f"The type of 'eta_min' in '{name}' must be 'float, int', but received {type(eta_min)}.")
        _true(T_max > 0, " 'T_max' must be a positive integer.")
        self.T_max = T_max
        self.eta_min = float(eta_min)
        super().__init__(learning_rate, last_epoch, verbose)

    def get_lr(self) -> float:
        """The rate at ``last_epoch``."""
        if self.last_epoch == 0:
            return self.base_lr
        return schedules.cosine_step(self.last_lr, self.base_lr, self.eta_min, self.last_epoch, self.T_max)

    def _get_closed_form_lr(self) -> float:
        return schedules.cosine(self.base_lr, self.eta_min, self.last_epoch, self.T_max)


class OneCycleLR(LRScheduler):
    """Up to ``max_learning_rate`` in the part ``phase_pct`` of ``total_steps``, and down to ``end_learning_rate``.

    It begins at ``max_learning_rate / divide_factor``; with ``three_phase`` it first goes down as it came. Source: L.
    Smith, N. Topin, "Super-convergence" (2018).
    """

    def __init__(
        self,
        max_learning_rate: float,
        total_steps: int,
        divide_factor: float = 25.0,
        end_learning_rate: float = 0.0001,
        phase_pct: float = 0.3,
        anneal_strategy: str = "cos",
        three_phase: bool = False,
        last_epoch: int = -1,
        verbose: bool = False,
    ) -> None:
        _number("max_learning_rate", max_learning_rate, 0)
        _number("end_learning_rate", end_learning_rate, 0)
        _count("total_step", total_steps)
        if not isinstance(phase_pct, float):
            raise TypeError(f"'phase_pct' must be 'float', but received {type(phase_pct)}")
        if not 0 <= phase_pct <= 1:
            raise ValueError(f"'phase_pct' must be between 0 and 1, but received {phase_pct}")
        _number("divide_factor", divide_factor)
        if three_phase and phase_pct >= 0.5:
            raise ValueError("When three_phase is True, 'phase_pct' must be less than 0.5")
        if anneal_strategy not in schedules.ANNEALING:
            raise ValueError(f"'anneal_strategy' must by one of 'cos' or 'linear', but received {anneal_strategy}")
        first, last = max_learning_rate / float(divide_factor), float(end_learning_rate)
        self.total_steps = total_steps
        self.anneal_func = schedules.ANNEALING[anneal_strategy]
        rise = phase_pct * total_steps - 1
        #: The steps at which phases begin and end, and the rates there.
        self._ends: list[float] = [0, rise, total_steps - 1]
        self._rates = [first, max_learning_rate, last]
        if three_phase:
            self._ends.insert(2, 2 * phase_pct * total_steps - 2)
            self._rates.insert(2, first)
        super().__init__(first, last_epoch, verbose)

    def get_lr(self) -> float:
        """The rate at ``last_epoch``."""
        step = self.last_epoch
        if step > self.total_steps:
            raise ValueError(f"Tried to step {step} times. However the number of total steps is {self.total_steps}")
        phases = len(self._ends) - 1
        i = next((i for i in range(phases) if step <= self._ends[i + 1]), phases - 1)
        part = (step - self._ends[i]) / (self._ends[i + 1] - self._ends[i])
        return self.anneal_func(self._rates[i], self._rates[i + 1], part)


class CyclicLR(LRScheduler):
    """Up from ``base_learning_rate`` to ``max_learning_rate`` and down again, over and over.

    ``mode="triangular2"`` halves the height each cycle, ``"exp_range"`` multiplies it by ``exp_gamma`` each step;
    ``scale_fn`` is any function of the cycle or of the iteration, as ``scale_mode`` says. Source: L. Smith, "Cyclical
    learning rates for training neural networks" (2017).
    """

    def __init__(
        self,
        base_learning_rate: float,
        max_learning_rate: float,
        step_size_up: int,
        step_size_down: int | None = None,
        mode: str = "triangular",
        exp_gamma: float = 1.0,
        scale_fn: Callable[[float], float] | None = None,
        scale_mode: str = "cycle",
        last_epoch: int = -1,
        verbose: bool = False,
    ) -> None:
        _number("max_learning_rate", max_learning_rate, 0)
        _count("step_size_up", step_size_up)
        if step_size_down is not None:
            _count("step_size_down", step_size_down)
        if not isinstance(exp_gamma, float):
            raise TypeError(f"The type of 'exp_gamma' must be float, but received {type(exp_gamma)}")
        if mode not in schedules.CYCLES and scale_fn is None:
            raise ValueError(
                "'mode' is invalid and 'scale_fn' is not specified, make sure one of 'mode' or 'scale_fn' is valid"
            )
        if scale_mode not in ("cycle", "iterations"):
            raise ValueError("'scale_mode' must be one of 'cycle' or 'iterations")
        up = float(step_size_up)
        self.cycle_size = up + (up if step_size_down is None else float(step_size_down))
        self.step_up_pct = up / self.cycle_size
        self.max_lr = float(max_learning_rate)
        self.amplitude = self.max_lr - base_learning_rate
        self.mode = mode
        self.gamma = exp_gamma
        self._scale_fn = scale_fn
        self.scale_mode = scale_mode if scale_fn is not None else schedules.CYCLES[mode][0]
        super().__init__(base_learning_rate, last_epoch, verbose)

    def scale_fn(self, x: float) -> float:
        """The factor by which the height is multiplied, in a cycle or at an iteration."""
        return schedules.CYCLES[self.mode][1](self.gamma, x) if self._scale_fn is None else self._scale_fn(x)

    def get_lr(self) -> float:
        """The rate at ``last_epoch``."""
        number, part = schedules.cycle(self.last_epoch, self.cycle_size, self.step_up_pct)
        scale = self.scale_fn(number if self.scale_mode == "cycle" else self.last_epoch)
        return self.base_lr + self.amplitude * part * scale


class LinearLR(LRScheduler):
    """The rate times a factor that goes from ``start_factor`` to ``end_factor`` in ``total_steps``."""

    def __init__(
        self,
        learning_rate: float,
        total_steps: int,
        start_factor: float = 1.0 / 3,
        end_factor: float = 1.0,
        last_epoch: int = -1,
        verbose: bool = False,
    ) -> None:
        if not 0 < start_factor <= 1:
            raise ValueError(f"`start_factor` must be greater than 0 and less or equal to 1, but got {start_factor}")
        if not 0 <= end_factor <= 1:
            raise ValueError(f"`end_factor` must be greater than 0 and less than 1, but got {end_factor}")
        if total_steps <= 0:
            raise ValueError(f"`total_steps` must be greater than 0, but got {total_steps}")
        self.start_factor = start_factor
        self.end_factor = end_factor
        self.total_steps = total_steps
        super().__init__(learning_rate, last_epoch, verbose)

    def get_lr(self) -> float:
        """The rate at ``last_epoch``."""
        if self.last_epoch == 0:
            return self.base_lr * self.start_factor
        if self.last_epoch > self.total_steps:
            return self.last_lr
        start, end = self.start_factor, self.end_factor
        return self.last_lr * schedules.linear_factor(start, end, self.last_epoch, self.total_steps)


class CosineAnnealingWarmRestarts(schedules.Restarts, LRScheduler):
    """Cosine annealing that begins again after ``T_0`` epochs, then after ``T_0 * T_mult``, and so on.

    ``step`` takes fractions of an epoch too.
    """

    def __init__(
        self,
        learning_rate: float,
        T_0: int,
        T_mult: int = 1,
        eta_min: float = 0,
        last_epoch: int = -1,
        verbose: bool = False,
    ) -> None:
        self._fg_set_period(T_0, T_mult, last_epoch)
        self.eta_min = eta_min
        super().__init__(learning_rate, last_epoch, verbose)

    def get_lr(self) -> float:
        """The rate at ``last_epoch``."""
        return schedules.cosine(self.base_lr, self.eta_min, self.T_cur, self.T_i)

    @counts
    def step(self, epoch: float | None = None) -> None:
        """Goes to the next epoch, or to the one given, and computes the rate."""
        self._fg_go_to(epoch)
        self.last_lr = self.get_lr()
        self._tell()

    @schedules.all_or_nothing
    def set_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Loads a :meth:`state_dict`, and finds the period that its epoch lies in."""
        super().set_state_dict(state_dict)
        if self.last_epoch >= 0:
            self.T_cur, self.T_i = schedules.restart(self.last_epoch, self.T_0, self.T_mult)


__dir__ = _public.names(globals())
