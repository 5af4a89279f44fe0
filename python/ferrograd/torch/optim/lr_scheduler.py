"""``torch.optim.lr_scheduler``: schedules that set the learning rates of an optimizer's groups.

>>> import ferrograd.torch as torch
>>> w = torch.tensor([4.0], requires_grad=True)
>>> optimizer = torch.optim.SGD([w], lr=1.0)
>>> scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=2, gamma=0.5)
>>> for _ in range(4):
...     print(scheduler.get_last_lr())
...     optimizer.step()
...     scheduler.step()
[1.0]
[1.0]
[0.5]
[0.5]
"""

from __future__ import annotations

import functools
import math
import types
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from ferrograd import _core
from ferrograd._autograd.modes import no_grad
from ferrograd._core import Tensor
from ferrograd._kit import public as _public
from ferrograd._kit.warning import warn
from ferrograd._optim import schedules
from ferrograd._optim.fused import NOT_TRACED, counts, watch
from ferrograd.torch.optim.optimizer import Optimizer

__all__ = [
    "ChainedScheduler",
    "ConstantLR",
    "CosineAnnealingLR",
    "CosineAnnealingWarmRestarts",
    "CyclicLR",
    "ExponentialLR",
    "LRScheduler",
    "LambdaLR",
    "LinearLR",
    "MultiStepLR",
    "MultiplicativeLR",
    "OneCycleLR",
    "PolynomialLR",
    "ReduceLROnPlateau",
    "SequentialLR",
    "StepLR",
]

_SEE = "See more details at https://pytorch.org/docs/stable/optim.html#how-to-adjust-learning-rate"
_BEFORE = (
    "Detected call of `lr_scheduler.step()` before `optimizer.step()`. In PyTorch 1.1.0 and later, you should call "
    "them in the opposite order: `optimizer.step()` before `lr_scheduler.step()`.  Failure to do this will result in "
    f"PyTorch skipping the first value of the learning rate schedule. {_SEE}"
)
_REPLACED = (
    "Seems like `optimizer.step()` has been overridden after learning rate scheduler initialization. Please, make sure "
    f"to call `optimizer.step()` before `lr_scheduler.step()`. {_SEE}"
)
EPOCH_DEPRECATION_WARNING = (
    "The epoch parameter in `scheduler.step()` was not necessary and is being deprecated where possible. Please use "
    "`scheduler.step()` to step the scheduler. During the deprecation, if epoch is different from None, the closed "
    "form is used instead of the new chainable form, where available."
)

_VERBOSE = "The verbose parameter is deprecated. Please use get_last_lr() to access the learning rate."
_UNSET: Any = object()

#: A learning rate: a number, or a tensor that an optimizer was given.
Rate = Any


def _values(optimizer: Optimizer, key: str) -> list[Rate]:
    """An option of all groups; copies where it is a tensor."""
    return [g[key].clone() if isinstance(g[key], Tensor) else g[key] for g in optimizer.param_groups]


def _set(group: dict[str, Any], key: str, value: Rate) -> None:
    """Sets an option of a group. A tensor stays the same object."""
    if isinstance(group[key], Tensor):
        with no_grad():
            group[key].copy_(value.reshape(group[key].shape) if isinstance(value, Tensor) else value)
    else:
        group[key] = value


def for_groups(name: str, optimizer: Optimizer, value: Any) -> list[Any]:
    """A value for each group, from one for all or a list. Of tensors copies, which do not follow later writes."""
    values = list(value) if isinstance(value, list | tuple) else [value] * len(optimizer.param_groups)
    if len(values) != len(optimizer.param_groups):
        raise ValueError(
            f"{name} must have the same length as optimizer.param_groups. {name} has {len(values)} values, "
            f"param_groups has {len(optimizer.param_groups)}."
        )
    return [v.clone() if isinstance(v, Tensor) else v for v in values]


def _check_optimizer(optimizer: Any) -> None:
    if not isinstance(optimizer, Optimizer):
        raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")


@contextmanager
def _flag(scheduler: Any, name: str) -> Iterator[None]:
    setattr(scheduler, name, True)
    try:
        yield
    finally:
        setattr(scheduler, name, False)


def _old(init: Any) -> Any:
    """An ``__init__`` that takes the ``verbose`` of older programs, too, and warns of it."""

    @functools.wraps(init)
    def taking(self: Any, *args: Any, verbose: Any = _UNSET, **kwargs: Any) -> None:
        if verbose is not _UNSET:
            warn(_VERBOSE)
        init(self, *args, **kwargs)

    return taking


class LRScheduler:
    """The base of schedules. A subclass has ``get_lr``, the rates at ``last_epoch``, one for each group.

    ``get_lr`` may use the rates before, ``group["lr"]``, so that schedules can be chained. A subclass may have
    ``_get_closed_form_lr``, which uses ``base_lrs`` only.
    """

    _get_lr_called_within_step: bool = False
    _is_initial: bool = False

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        init = vars(cls).get("__init__")
        if isinstance(init, types.FunctionType) and "verbose" not in init.__code__.co_varnames:
            cls.__init__ = _old(init)  # type: ignore[method-assign]

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1, verbose: Any = "deprecated") -> None:
        _check_optimizer(optimizer)
        if verbose != "deprecated":
            warn(_VERBOSE)
        self.optimizer = optimizer
        for i, group in enumerate(optimizer.param_groups):
            if last_epoch == -1:
                lr = group["lr"]
                group.setdefault("initial_lr", lr.clone() if isinstance(lr, Tensor) else lr)
            elif "initial_lr" not in group:
                raise KeyError(
                    f"param 'initial_lr' is not specified in param_groups[{i}] when resuming scheduler with "
                    "last_epoch >= 0. Load the state of the optimizer first; a fresh run takes last_epoch=-1"
                )
        self.base_lrs = _values(optimizer, "initial_lr")
        if last_epoch == -1 and optimizer._opt_called:
            self._fg_leave_the_end()
        self.last_epoch = last_epoch
        self._initial_step()

    def _fg_leave_the_end(self) -> None:
        """Begins anew where a schedule before this one has ended at the lowest rate, which no factor changes."""
        lowest = getattr(self, "eta_min", 0.0)
        for group, base in zip(self.optimizer.param_groups, self.base_lrs, strict=True):
            if not isinstance(group["lr"], Tensor) and group["lr"] == lowest != base:
                _set(group, "lr", base)

    def _initial_step(self) -> None:
        self._step_count = 0
        with _flag(self, "_is_initial"):
            self.step()

    def state_dict(self) -> dict[str, Any]:
        """All attributes but the optimizer. A function is not saved; of an object that is called, its attributes."""
        return {key: value for key, value in vars(self).items() if key != "optimizer"}

    @schedules.all_or_nothing
    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Loads the :meth:`state_dict` of a schedule of the same class. Load the optimizer's state too."""
        vars(self).update(state_dict)

    def get_last_lr(self) -> list[Rate]:
        """The rates that the last step set."""
        watch(lambda: list(self._last_lr))
        return self._last_lr

    def get_lr(self) -> list[Rate]:
        """The rates at ``last_epoch``. Only :meth:`step` calls it; see :meth:`get_last_lr`."""
        raise NotImplementedError

    @counts
    def step(self, epoch: int | None = None) -> None:
        """Goes to the next epoch and sets the rates; call it after the step of the optimizer."""
        if self._step_count == 1:
            if "step" in vars(self.optimizer):
                warn(_REPLACED)
            elif not self.optimizer._opt_called:
                warn(_BEFORE)
        self._step_count += 1
        if epoch is not None:
            warn(EPOCH_DEPRECATION_WARNING)
        self._update_lr(epoch)

    def _update_lr(self, epoch: int | None = None) -> None:
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        with _flag(self, "_get_lr_called_within_step"):
            closed = None if epoch is None else getattr(self, "_get_closed_form_lr", None)
            self._fg_apply(closed() if closed else self.get_lr())

    def _fg_apply(self, rates: list[Rate]) -> None:
        for group, lr in zip(self.optimizer.param_groups, rates, strict=True):
            _set(group, "lr", lr)
        self._last_lr = _values(self.optimizer, "lr")

    def _fg_expect_step(self) -> None:
        """Warns if ``get_lr`` is not called by a step: the rates it gives may be those of a step that was not made."""
        if not self._get_lr_called_within_step:
            warn("To get the last learning rate computed by the scheduler, please use `get_last_lr()`.")

    def _fg_scaled(self, factor: float) -> list[Rate]:
        """The rates before, times a factor."""
        return [group["lr"] * factor for group in self.optimizer.param_groups]

    def _fg_kept(self) -> list[Rate]:
        """The rates before."""
        return _values(self.optimizer, "lr")


_LRScheduler = LRScheduler


def _saved(function: Any) -> Any:
    """What a state holds of a callable: the attributes of an object, and nothing of a plain function."""
    return None if function is None or isinstance(function, types.FunctionType) else dict(vars(function))


class _OfFunctions(LRScheduler):
    """A schedule of functions of the epoch, one for each group."""

    def __init__(self, optimizer: Optimizer, lr_lambda: Any, last_epoch: int = -1) -> None:
        if isinstance(lr_lambda, list | tuple) and len(lr_lambda) != len(optimizer.param_groups):
            raise ValueError(f"Expected {len(optimizer.param_groups)} lr_lambdas, but got {len(lr_lambda)}")
        self.lr_lambdas = for_groups("lr_lambda", optimizer, lr_lambda)
        for f in self.lr_lambdas:
            if not callable(f):
                raise TypeError(f"lr_lambda should be a function, but got {type(f).__name__}")
        super().__init__(optimizer, last_epoch)

    def state_dict(self) -> dict[str, Any]:
        """The state; see :meth:`LRScheduler.state_dict`."""
        return {**super().state_dict(), "lr_lambdas": [_saved(f) for f in self.lr_lambdas]}

    @schedules.all_or_nothing
    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Loads a state; see :meth:`LRScheduler.load_state_dict`."""
        super().load_state_dict({key: value for key, value in state_dict.items() if key != "lr_lambdas"})
        for f, saved in zip(self.lr_lambdas, state_dict["lr_lambdas"], strict=True):
            if saved is not None:
                vars(f).update(saved)


class LambdaLR(_OfFunctions):
    """The initial rate times a function of the epoch: one for all groups, or a list."""

    def get_lr(self) -> list[Rate]:
        """The rates at ``last_epoch``."""
        self._fg_expect_step()
        return [base * f(self.last_epoch) for f, base in zip(self.lr_lambdas, self.base_lrs, strict=True)]


class MultiplicativeLR(_OfFunctions):
    """The rate before times a function of the epoch: one for all groups, or a list."""

    def get_lr(self) -> list[Rate]:
        """The rates at ``last_epoch``."""
        self._fg_expect_step()
        if self._is_initial:
            return self._fg_kept()
        groups = self.optimizer.param_groups
        return [group["lr"] * f(self.last_epoch) for f, group in zip(self.lr_lambdas, groups, strict=True)]


class StepLR(LRScheduler):
    """The rate times ``gamma`` every ``step_size`` epochs."""

    def __init__(self, optimizer: Optimizer, step_size: int, gamma: float = 0.1, last_epoch: int = -1) -> None:
        self.step_size = step_size
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Rate]:
        """The rates at ``last_epoch``."""
        self._fg_expect_step()
        if self.last_epoch == 0 or self.last_epoch % self.step_size:
            return self._fg_kept()
        return self._fg_scaled(self.gamma)

    def _get_closed_form_lr(self) -> list[Rate]:
        return [base * self.gamma ** (self.last_epoch // self.step_size) for base in self.base_lrs]


class MultiStepLR(LRScheduler):
    """The rate times ``gamma`` at each of the ``milestones``."""

    def __init__(
        self, optimizer: Optimizer, milestones: Iterable[int], gamma: float = 0.1, last_epoch: int = -1
    ) -> None:
        self.milestones = Counter(milestones)
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Rate]:
        """The rates at ``last_epoch``."""
        self._fg_expect_step()
        if self.last_epoch not in self.milestones:
            return self._fg_kept()
        return self._fg_scaled(self.gamma ** self.milestones[self.last_epoch])

    def _get_closed_form_lr(self) -> list[Rate]:
        passed = bisect_right(sorted(self.milestones.elements()), self.last_epoch)
        return [base * self.gamma**passed for base in self.base_lrs]


class ConstantLR(LRScheduler):
    """The rate times ``factor`` for ``total_iters`` epochs, then the initial rate."""

    def __init__(
        self, optimizer: Optimizer, factor: float = 1.0 / 3, total_iters: int = 5, last_epoch: int = -1
    ) -> None:
        if not 0 <= factor <= 1:
            raise ValueError("Constant multiplicative factor expected to be between 0 and 1.")
        self.factor = factor
        self.total_iters = total_iters
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Rate]:
        """The rates at ``last_epoch``."""
        self._fg_expect_step()
        if self.last_epoch == 0:
            return self._fg_scaled(self.factor)
        if self.last_epoch != self.total_iters:
            return self._fg_kept()
        return self._fg_scaled(1.0 / self.factor)

    def _get_closed_form_lr(self) -> list[Rate]:
        return [
            base * (self.factor + (self.last_epoch >= self.total_iters) * (1 - self.factor)) for base in self.base_lrs
        ]


class LinearLR(LRScheduler):
    """The initial rate times a factor that goes from ``start_factor`` to ``end_factor`` in ``total_iters`` epochs."""

    def __init__(
        self,
        optimizer: Optimizer,
        start_factor: float = 1.0 / 3,
        end_factor: float = 1.0,
        total_iters: int = 5,
        last_epoch: int = -1,
    ) -> None:
        if not 0 < start_factor <= 1:
            raise ValueError("Starting multiplicative factor expected to be greater than 0 and less or equal to 1.")
        if not 0 <= end_factor <= 1:
            raise ValueError("Ending multiplicative factor expected to be between 0 and 1.")
        self.start_factor = start_factor
        self.end_factor = end_factor
        self.total_iters = total_iters
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Rate]:
        """The rates at ``last_epoch``."""
        self._fg_expect_step()
        if self.last_epoch == 0:
            return self._fg_scaled(self.start_factor)
        if self._is_initial or self.last_epoch > self.total_iters:
            return self._fg_kept()
        start, end = self.start_factor, self.end_factor
        return self._fg_scaled(schedules.linear_factor(start, end, self.last_epoch, self.total_iters))

    def _get_closed_form_lr(self) -> list[Rate]:
        start, end, total = self.start_factor, self.end_factor, self.total_iters
        return [base * (start + (end - start) * min(total, self.last_epoch) / total) for base in self.base_lrs]


class ExponentialLR(LRScheduler):
    """The rate times ``gamma`` at every epoch."""

    def __init__(self, optimizer: Optimizer, gamma: float, last_epoch: int = -1) -> None:
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Rate]:
        """The rates at ``last_epoch``."""
        self._fg_expect_step()
        return self._fg_kept() if self._is_initial else self._fg_scaled(self.gamma)

    def _get_closed_form_lr(self) -> list[Rate]:
        return [base * self.gamma**self.last_epoch for base in self.base_lrs]


class PolynomialLR(LRScheduler):
    """The initial rate times ``(1 - epoch / total_iters) ** power``."""

    def __init__(self, optimizer: Optimizer, total_iters: int = 5, power: float = 1.0, last_epoch: int = -1) -> None:
        self.total_iters = total_iters
        self.power = power
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Rate]:
        """The rates at ``last_epoch``."""
        self._fg_expect_step()
        epoch, total = self.last_epoch, self.total_iters
        if self._is_initial or epoch > total:
            return self._fg_kept()
        return self._fg_scaled(((1.0 - epoch / total) / (1.0 - (epoch - 1) / total)) ** self.power)

    def _get_closed_form_lr(self) -> list[Rate]:
        total = self.total_iters
        return [base * (1.0 - min(total, self.last_epoch) / total) ** self.power for base in self.base_lrs]


class CosineAnnealingLR(LRScheduler):
    """The rate from the initial one to ``eta_min`` along half a cosine in ``T_max`` epochs, and back.

    Source: I. Loshchilov, F. Hutter, "SGDR: stochastic gradient descent with warm restarts" (2017).
    """

    def __init__(self, optimizer: Optimizer, T_max: int, eta_min: float = 0.0, last_epoch: int = -1) -> None:
        self.T_max = T_max
        self.eta_min = eta_min
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Rate]:
        """The rates at ``last_epoch``."""
        self._fg_expect_step()
        if self._is_initial:
            return self._fg_kept()
        if self._step_count == 1 and self.last_epoch > 0:
            return self._get_closed_form_lr()
        pairs = zip(self.optimizer.param_groups, self.base_lrs, strict=True)
        return [
            schedules.cosine_step(group["lr"], base, self.eta_min, self.last_epoch, self.T_max) for group, base in pairs
        ]

    def _get_closed_form_lr(self) -> list[Rate]:
        return [schedules.cosine(base, self.eta_min, self.last_epoch, self.T_max) for base in self.base_lrs]


class CosineAnnealingWarmRestarts(schedules.Restarts, LRScheduler):
    """Cosine annealing that begins again after ``T_0`` epochs, then after ``T_0 * T_mult``, and so on.

    ``step`` takes fractions of an epoch too.
    """

    def __init__(
        self, optimizer: Optimizer, T_0: int, T_mult: int = 1, eta_min: float = 0.0, last_epoch: int = -1
    ) -> None:
        self._fg_set_period(T_0, T_mult, last_epoch)
        if not isinstance(eta_min, float | int):
            raise ValueError(f"Expected float or int eta_min, but got {eta_min} of type {type(eta_min)}")
        self.eta_min = eta_min
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Rate]:
        """The rates at ``last_epoch``."""
        self._fg_expect_step()
        return [schedules.cosine(base, self.eta_min, self.T_cur, self.T_i) for base in self.base_lrs]

    @counts
    def step(self, epoch: float | None = None) -> None:
        """Goes to the next epoch, or to the one given, and sets the rates."""
        self._fg_go_to(epoch)
        with _flag(self, "_get_lr_called_within_step"):
            self._fg_apply(self.get_lr())


def _check_members(name: str, optimizer: Any, members: Sequence[Any]) -> None:
    """Raises unless all schedules can be steps of one schedule."""
    for i, member in enumerate(members):
        if not hasattr(member, "optimizer"):
            raise TypeError(f"{name} at index {i} should have `optimizer` as its attribute.")
        if isinstance(member, ReduceLROnPlateau):
            raise ValueError(
                f"{name} does not support `ReduceLROnPlateau` scheduler as it requires additional kwargs to be "
                f"specified when calling `step`, but got one at index {i} in the given schedulers sequence."
            )
        if member.optimizer is not optimizer:
            raise ValueError(
                f"{name} expects all schedulers to belong to the same optimizer, but got scheduler "
                f"{type(member).__name__} at index {i} has {member.optimizer}, which is different from "
                f"{type(optimizer).__name__}."
            )


class _OfSchedules(LRScheduler):
    """A schedule made of others."""

    _schedulers: Sequence[LRScheduler]

    def state_dict(self) -> dict[str, Any]:
        """The state; see :meth:`LRScheduler.state_dict`."""
        return {**super().state_dict(), "_schedulers": [s.state_dict() for s in self._schedulers]}

    @schedules.all_or_nothing
    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Loads a state; see :meth:`LRScheduler.load_state_dict`."""
        super().load_state_dict({key: value for key, value in state_dict.items() if key != "_schedulers"})
        for member, saved in zip(self._schedulers, state_dict["_schedulers"], strict=True):
            member.load_state_dict(saved)

    def _fg_begin(self) -> None:
        """Makes the initial steps, from the rates that the groups have."""
        raise NotImplementedError

    def _fg_advance(self, step: Callable[[LRScheduler], None]) -> None:
        """Goes to the next epoch; ``step`` is what the members make for that."""
        raise NotImplementedError

    def _initial_step(self) -> None:
        _rewind(self)
        self._fg_begin()

    def _update_lr(self, epoch: int | None = None) -> None:
        if epoch is None:
            self._fg_advance(lambda member: member._update_lr())
            return
        # The members may go only forwards, so they begin again.
        for group in self.optimizer.param_groups:
            _set(group, "lr", group["initial_lr"])
        self._initial_step()
        for _ in range(epoch):
            self._update_lr()


def _rewind(scheduler: Any) -> None:
    """Puts a schedule, and those that it is made of, before the initial step."""
    for member in getattr(scheduler, "_schedulers", ()):
        _rewind(member)
    if hasattr(scheduler, "last_epoch"):
        scheduler.last_epoch = -1


class SequentialLR(_OfSchedules):
    """Schedules one after the other; each of the ``milestones`` is the epoch at which the next one begins."""

    def __init__(
        self, optimizer: Optimizer, schedulers: list[LRScheduler], milestones: list[int], last_epoch: int = -1
    ) -> None:
        name = type(self).__name__
        if len(schedulers) < 1:
            raise ValueError(f"{name} expects at least one scheduler, but got no scheduler.")
        _check_members(name, optimizer, schedulers)
        if len(milestones) != len(schedulers) - 1:
            raise ValueError(
                "Sequential Schedulers expects number of schedulers provided to be one more than the number of "
                f"milestone points, but got number of schedulers {len(schedulers)} and the number of milestones to be "
                f"equal to {len(milestones)}"
            )
        self._schedulers = schedulers
        self._milestones = milestones
        self.last_epoch = -1
        self.optimizer = optimizer
        # Each schedule has made its initial step. Only that of the first one counts.
        self._update_lr(last_epoch + 1)

    @counts
    def step(self) -> None:  # type: ignore[override]
        """Goes to the next epoch and sets the rates."""
        self._fg_advance(lambda member: member.step())

    def _fg_begin(self) -> None:
        self.last_epoch = 0
        first = self._schedulers[bisect_right(self._milestones, 0)]
        first._initial_step()
        self._last_lr = first.get_last_lr()

    def _fg_advance(self, step: Callable[[LRScheduler], None]) -> None:
        self.last_epoch += 1
        i = bisect_right(self._milestones, self.last_epoch)
        member = self._schedulers[i]
        if i > 0 and self._milestones[i - 1] == self.last_epoch:
            member._update_lr(0)
        else:
            step(member)
        self._last_lr = member.get_last_lr()


class ChainedScheduler(_OfSchedules):
    """Schedules that all make a step at every epoch, each on the rates of the one before."""

    def __init__(self, schedulers: Sequence[LRScheduler], optimizer: Optimizer | None = None) -> None:
        name = type(self).__name__
        if len(schedulers) < 1:
            raise ValueError(f"{name} expects at least one scheduler to be chained, but got no scheduler.")
        optimizer = optimizer or getattr(schedulers[0], "optimizer", None)
        _check_members(name, optimizer, schedulers)
        assert optimizer is not None
        self._schedulers = schedulers
        self.optimizer = optimizer
        self._last_lr = self._fg_kept()

    @counts
    def step(self) -> None:  # type: ignore[override]
        """Makes a step of each schedule."""
        self._fg_advance(lambda member: member.step())

    def _fg_begin(self) -> None:
        for member in self._schedulers:
            member._initial_step()
        self._last_lr = self._fg_kept()

    def _fg_advance(self, step: Callable[[LRScheduler], None]) -> None:
        for member in self._schedulers:
            step(member)
        self._last_lr = self._fg_kept()


class ReduceLROnPlateau(LRScheduler):
    """The rate times ``factor`` when a metric has not become better for ``patience`` epochs.

    Better is smaller, or larger with ``mode="max"``, by at least ``threshold``, which is relative unless
    ``threshold_mode="abs"``. After that ``cooldown`` epochs do not count. A change of ``eps`` or less is not made.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        mode: str = "min",
        factor: float = 0.1,
        patience: int = 10,
        threshold: float = 1e-4,
        threshold_mode: str = "rel",
        cooldown: int = 0,
        min_lr: list[float] | float = 0,
        eps: float = 1e-8,
    ) -> None:
        if factor >= 1.0:
            raise ValueError("Factor should be < 1.0.")
        _check_optimizer(optimizer)
        if mode not in ("min", "max"):
            raise ValueError(f"mode {mode} is unknown!")
        if threshold_mode not in ("rel", "abs"):
            raise ValueError(f"threshold mode {threshold_mode} is unknown!")
        groups = len(optimizer.param_groups)
        if isinstance(min_lr, list | tuple) and len(min_lr) != groups:
            raise ValueError(f"expected {groups} min_lrs, got {len(min_lr)}")
        self.factor = factor
        self.optimizer = optimizer
        self.default_min_lr = None if isinstance(min_lr, list | tuple) else min_lr
        self.min_lrs = for_groups("min_lr", optimizer, min_lr)
        self.patience = patience
        self.cooldown = cooldown
        self.eps = eps
        self.mode = mode
        self.threshold = threshold
        self.threshold_mode = threshold_mode
        self.mode_worse = math.inf if mode == "min" else -math.inf
        self.last_epoch = 0
        self._last_lr = self._fg_kept()
        self._reset()

    def _reset(self) -> None:
        """Forgets all metrics."""
        self.best = self.mode_worse
        self.cooldown_counter = 0
        self.num_bad_epochs = 0

    def step(self, metrics: Any, epoch: int | None = None) -> None:  # type: ignore[override]
        """Takes the metric of an epoch, and sets the rates."""
        _core.give_up_trace(NOT_TRACED)
        current = float(metrics)
        if epoch is not None:
            warn(EPOCH_DEPRECATION_WARNING)
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        if self._is_better(current, self.best):
            self.best = current
            self.num_bad_epochs = 0
        else:
            self.num_bad_epochs += 1
        if self.in_cooldown:
            self.cooldown_counter -= 1
            self.num_bad_epochs = 0
        if self.num_bad_epochs > self.patience:
            self._reduce_lr()
            self.cooldown_counter = self.cooldown
            self.num_bad_epochs = 0
        self._last_lr = self._fg_kept()

    def _reduce_lr(self) -> None:
        groups = self.optimizer.param_groups
        if len(groups) != len(self.min_lrs):
            if self.default_min_lr is None:
                raise RuntimeError(
                    f"The number of param groups in the `optimizer` ({len(groups)}) differs from when "
                    f"`ReduceLROnPlateau` was initialized ({len(self.min_lrs)}), usually due to a new param group "
                    "being added to the optimizer. Please modify the `min_lrs` field to match the length of the "
                    "`optimizer` param groups."
                )
            self.min_lrs = [self.default_min_lr] * len(groups)
        for group, least in zip(groups, self.min_lrs, strict=True):
            old = float(group["lr"])
            new = max(old * self.factor, least)
            if old - new > self.eps:
                _set(group, "lr", new)

    @property
    def in_cooldown(self) -> bool:
        """Whether epochs do not count because the rate has just been reduced."""
        return self.cooldown_counter > 0

    def _is_better(self, a: float, best: float) -> bool:
        sign = -1 if self.mode == "min" else 1
        edge = best * (1.0 + sign * self.threshold) if self.threshold_mode == "rel" else best + sign * self.threshold
        return a < edge if self.mode == "min" else a > edge


class _Momentums:
    """The momentum of the groups, or the first of the betas, as a schedule changes it."""

    def __init__(self, optimizer: Optimizer, base: Any, largest: Any, begins: bool) -> None:
        if "momentum" not in optimizer.defaults and "betas" not in optimizer.defaults:
            raise ValueError("optimizer must support momentum or beta1 with `cycle_momentum` option enabled")
        self.use_beta1 = "betas" in optimizer.defaults
        self.bases = for_groups("base_momentum", optimizer, base)
        self.largest = for_groups("max_momentum", optimizer, largest)
        if begins:
            for group, low, high in zip(optimizer.param_groups, self.bases, self.largest, strict=True):
                _set_momentum(group, self.use_beta1, high)
                group["max_momentum"], group["base_momentum"] = high, low


def _set_momentum(group: dict[str, Any], use_beta1: bool, value: float) -> None:
    if use_beta1:
        group["betas"] = (value, *group["betas"][1:])
    else:
        group["momentum"] = value


class CyclicLR(LRScheduler):
    """The rate up from ``base_lr`` to ``max_lr`` and down again, over and over; call ``step`` after every batch.

    ``mode="triangular2"`` halves the height each cycle, ``"exp_range"`` multiplies it by ``gamma`` each step;
    ``scale_fn`` is any function of the cycle or of the iteration, as ``scale_mode`` says. With ``cycle_momentum`` the
    momentum goes the opposite way. Source: L. Smith, "Cyclical learning rates for training neural networks" (2017).
    """

    def __init__(
        self,
        optimizer: Optimizer,
        base_lr: float | list[float],
        max_lr: float | list[float],
        step_size_up: int = 2000,
        step_size_down: int | None = None,
        mode: str = "triangular",
        gamma: float = 1.0,
        scale_fn: Callable[[float], float] | None = None,
        scale_mode: str = "cycle",
        cycle_momentum: bool = True,
        base_momentum: Any = 0.8,
        max_momentum: Any = 0.9,
        last_epoch: int = -1,
    ) -> None:
        _check_optimizer(optimizer)
        if mode not in schedules.CYCLES and scale_fn is None:
            raise ValueError("mode is invalid and scale_fn is None")
        base_lrs = for_groups("base_lr", optimizer, base_lr)
        if last_epoch == -1:
            for lr, group in zip(base_lrs, optimizer.param_groups, strict=True):
                _set(group, "lr", lr)
        self.max_lrs = for_groups("max_lr", optimizer, max_lr)
        up = float(step_size_up)
        down = up if step_size_down is None else float(step_size_down)
        self.total_size = up + down
        self.step_ratio = up / self.total_size
        self.mode = mode
        self.gamma = gamma
        self._scale_fn_custom = scale_fn
        self.scale_mode = scale_mode if scale_fn is not None else schedules.CYCLES[mode][0]
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            momentums = _Momentums(optimizer, base_momentum, max_momentum, last_epoch == -1)
            self.use_beta1 = momentums.use_beta1
            self.base_momentums, self.max_momentums = momentums.bases, momentums.largest
        super().__init__(optimizer, last_epoch)
        self.base_lrs = base_lrs

    def scale_fn(self, x: float) -> float:
        """What the height is multiplied by in a cycle, or at an iteration."""
        if self._scale_fn_custom is not None:
            return self._scale_fn_custom(x)
        return schedules.CYCLES[self.mode][1](self.gamma, x)

    def get_lr(self) -> list[Rate]:
        """The rates at ``last_epoch``."""
        self._fg_expect_step()
        number, part = schedules.cycle(self.last_epoch, self.total_size, self.step_ratio)

        def height(low: Any, high: Any) -> Any:
            return (high - low) * part * self.scale_fn(number if self.scale_mode == "cycle" else self.last_epoch)

        if self.cycle_momentum:
            pairs = zip(self.base_momentums, self.max_momentums, strict=True)
            for group, (low, high) in zip(self.optimizer.param_groups, pairs, strict=True):
                _set_momentum(group, self.use_beta1, high - height(low, high))
        return [low + height(low, high) for low, high in zip(self.base_lrs, self.max_lrs, strict=True)]

    def state_dict(self) -> dict[str, Any]:
        """The state; see :meth:`LRScheduler.state_dict`."""
        return {**super().state_dict(), "_scale_fn_custom": _saved(self._scale_fn_custom)}

    @schedules.all_or_nothing
    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Loads a state; see :meth:`LRScheduler.load_state_dict`."""
        super().load_state_dict({key: value for key, value in state_dict.items() if key != "_scale_fn_custom"})
        saved = state_dict["_scale_fn_custom"]
        if saved is not None:
            vars(self._scale_fn_custom).update(saved)


class OneCycleLR(LRScheduler):
    """The rate up to ``max_lr`` in the part ``pct_start`` of ``total_steps``, and down far below where it began.

    It begins at ``max_lr / div_factor`` and ends at that over ``final_div_factor``; with ``three_phase`` it first goes
    down as it came. Call ``step`` after every batch. With ``cycle_momentum`` the momentum goes the opposite way.
    Source: L. Smith, N. Topin, "Super-convergence" (2018).
    """

    def __init__(
        self,
        optimizer: Optimizer,
        max_lr: float | list[float],
        total_steps: int | None = None,
        epochs: int | None = None,
        steps_per_epoch: int | None = None,
        pct_start: float = 0.3,
        anneal_strategy: str = "cos",
        cycle_momentum: bool = True,
        base_momentum: Any = 0.85,
        max_momentum: Any = 0.95,
        div_factor: float = 25.0,
        final_div_factor: float = 1e4,
        three_phase: bool = False,
        last_epoch: int = -1,
    ) -> None:
        _check_optimizer(optimizer)
        counts = {"total_steps": total_steps}
        if total_steps is None:
            counts = {"epochs": epochs, "steps_per_epoch": steps_per_epoch}
            if epochs is None or steps_per_epoch is None:
                raise ValueError("You must define either total_steps OR (epochs AND steps_per_epoch)")
        for name, count in counts.items():
            if not isinstance(count, int) or count <= 0:
                raise ValueError(f"Expected positive integer {name}, but got {count}")
        if not isinstance(pct_start, float) or not 0 <= pct_start <= 1:
            raise ValueError(f"Expected float between 0 and 1 pct_start, but got {pct_start}")
        if anneal_strategy not in schedules.ANNEALING:
            raise ValueError(f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}")
        self.total_steps = math.prod(c for c in counts.values() if c is not None)
        self._anneal_func_type = anneal_strategy
        rise, last = float(pct_start * self.total_steps) - 1, self.total_steps - 1
        phases: list[tuple[float, str, str, str, str]] = [
            (rise, "initial_lr", "max_lr", "max_momentum", "base_momentum"),
            (last, "max_lr", "min_lr", "base_momentum", "max_momentum"),
        ]
        if three_phase:
            fall = float(2 * pct_start * self.total_steps) - 2
            phases[1:] = [
                (fall, "max_lr", "initial_lr", "base_momentum", "max_momentum"),
                (last, "initial_lr", "min_lr", "max_momentum", "max_momentum"),
            ]
        names = ("end_step", "start_lr", "end_lr", "start_momentum", "end_momentum")
        #: The last step of each phase, and the options that the rate and the momentum go between.
        self._schedule_phases: list[dict[str, Any]] = [dict(zip(names, phase, strict=True)) for phase in phases]
        if last_epoch == -1:
            for group, highest in zip(optimizer.param_groups, for_groups("max_lr", optimizer, max_lr), strict=True):
                group["initial_lr"] = highest / div_factor
                group["max_lr"] = highest
                group["min_lr"] = group["initial_lr"] / final_div_factor
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            self.use_beta1 = _Momentums(optimizer, base_momentum, max_momentum, last_epoch == -1).use_beta1
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Rate]:
        """The rates at ``last_epoch``."""
        self._fg_expect_step()
        step = self.last_epoch
        if step > self.total_steps:
            raise ValueError(f"Tried to step {step} times. The specified number of total steps is {self.total_steps}")
        start = 0.0
        for phase in self._schedule_phases[:-1]:
            if step <= phase["end_step"]:
                break
            start = phase["end_step"]
        else:
            # The step after the last one goes on in the last phase.
            phase = self._schedule_phases[-1]
        part = (step - start) / (phase["end_step"] - start)
        between = schedules.ANNEALING[self._anneal_func_type]
        if self.cycle_momentum:
            for group in self.optimizer.param_groups:
                first, last = group[phase["start_momentum"]], group[phase["end_momentum"]]
                _set_momentum(group, self.use_beta1, between(first, last, part))
        first, last = phase["start_lr"], phase["end_lr"]
        return [between(group[first], group[last], part) for group in self.optimizer.param_groups]


__dir__ = _public.names(globals())
