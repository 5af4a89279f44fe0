"""``torch.optim.swa_utils``: averages of a model's parameters over a training run.

Source: P. Izmailov et al., "Averaging weights leads to wider optima and better generalization" (2018).
"""

from __future__ import annotations

import copy
import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ferrograd import _core
from ferrograd._autograd.modes import no_grad
from ferrograd._core import ArgumentError, Tensor
from ferrograd._kit import public as _public
from ferrograd._kit.arguments import typed
from ferrograd._optim import schedules
from ferrograd.torch._base.dtypes import long
from ferrograd.torch._functions.create import tensor
from ferrograd.torch.nn.modules.batchnorm import _BatchNorm
from ferrograd.torch.nn.modules.module import Module
from ferrograd.torch.optim.lr_scheduler import LRScheduler, Rate, for_groups
from ferrograd.torch.optim.optimizer import Optimizer

__all__ = [
    "SWALR",
    "AveragedModel",
    "get_ema_avg_fn",
    "get_ema_multi_avg_fn",
    "get_swa_avg_fn",
    "get_swa_multi_avg_fn",
    "update_bn",
]

#: A function of an average, a new value and the number of values so far; it returns the next average.
Average = Callable[[Tensor, Tensor, Any], Tensor]
#: The same for lists of tensors, which it changes in place.
Averages = Callable[[Sequence[Tensor], Sequence[Tensor], Any], None]


def get_ema_avg_fn(decay: float = 0.999) -> Average:
    """The exponential moving average: ``decay`` times the average, and the rest of the new value.

    >>> get_ema_avg_fn(0.75)(1.0, 2.0, 5)
    1.25
    """
    if not 0 <= decay <= 1:
        raise ArgumentError(f"Invalid decay value {decay} provided. Please provide a value in [0,1] range.")

    def ema_update(averaged: Any, current: Any, num_averaged: Any) -> Any:
        with no_grad():
            return decay * averaged + (1 - decay) * current

    return ema_update


def get_swa_avg_fn() -> Average:
    """The mean of all values.

    >>> get_swa_avg_fn()(1.0, 4.0, 2)
    2.0
    """

    def swa_update(averaged: Any, current: Any, num_averaged: Any) -> Any:
        with no_grad():
            return averaged + (current - averaged) / (num_averaged + 1)

    return swa_update


def _of_lists(average: Average) -> Averages:
    def update(averaged: Sequence[Tensor], current: Sequence[Tensor], num_averaged: Any) -> None:
        with no_grad():
            for a, c in zip(averaged, current, strict=True):
                a.copy_(average(a, c, num_averaged))

    return update


def get_ema_multi_avg_fn(decay: float = 0.999) -> Averages:
    """:func:`get_ema_avg_fn` for lists of tensors, in place."""
    return _of_lists(get_ema_avg_fn(decay))


def get_swa_multi_avg_fn() -> Averages:
    """:func:`get_swa_avg_fn` for lists of tensors, in place."""
    return _of_lists(get_swa_avg_fn())


class AveragedModel(Module):
    """A copy of a model whose parameters are averages of the model's; :meth:`update_parameters` takes the next ones.

    By default it is the mean; ``avg_fn`` or ``multi_avg_fn`` is another rule. ``use_buffers`` averages the buffers too;
    else they are copied.

    >>> import ferrograd.torch as torch
    >>> model = torch.nn.Linear(1, 1)
    >>> averaged = AveragedModel(model)
    >>> for value in (1.0, 3.0):
    ...     _ = torch.nn.init.constant_(model.weight, value)
    ...     averaged.update_parameters(model)
    >>> averaged.module.weight.item()
    2.0
    """

    n_averaged: Tensor

    def __init__(
        self,
        model: Module,
        device: object = None,
        avg_fn: Average | None = None,
        multi_avg_fn: Averages | None = None,
        use_buffers: bool = False,
    ) -> None:
        super().__init__()
        if avg_fn is not None and multi_avg_fn is not None:
            raise AssertionError("Only one of avg_fn and multi_avg_fn should be provided")
        self.module = copy.deepcopy(model)
        if device is not None:
            self.module.to(device)
        self.register_buffer("n_averaged", tensor(0, dtype=long))
        self.avg_fn = avg_fn
        self.multi_avg_fn = multi_avg_fn
        self.use_buffers = use_buffers

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """The result of the averaged model."""
        return self.module(*args, **kwargs)

    @no_grad()
    def update_parameters(self, model: Module) -> None:
        """Takes the parameters of the model into the averages. The first ones are copied."""
        own: list[Tensor] = list(self.module.parameters())
        theirs: list[Tensor] = list(model.parameters())
        if self.use_buffers:
            own += self.module.buffers()
            theirs += model.buffers()
        pairs = [(a.detach(), c.detach()) for a, c in zip(own, theirs, strict=True)]
        if _core.all_hold(self.n_averaged == 0):
            for a, c in pairs:
                a.copy_(c)
        elif self.avg_fn is not None:
            for a, c in pairs:
                a.copy_(self.avg_fn(a, c, self.n_averaged))
        else:
            update = self.multi_avg_fn or get_swa_multi_avg_fn()
            # As in PyTorch a call gets tensors of one dtype.
            for _, group in itertools.groupby(sorted(pairs, key=_dtype_name), key=_dtype_name):
                averaged, current = zip(*group, strict=True)
                update(averaged, current, self.n_averaged)
        if not self.use_buffers:
            for a, c in zip(self.module.buffers(), model.buffers(), strict=True):
                a.detach().copy_(c.detach())
        self.n_averaged.add_(1)


def _dtype_name(pair: tuple[Tensor, Tensor]) -> str:
    return str(pair[0].dtype)


@no_grad()
@typed(model=Module)
def update_bn(loader: Iterable[Any], model: Module, device: object = None) -> None:
    """Computes the running statistics of all batch normalizations of a model anew, by one pass over a loader.

    If a batch is a list or tuple, its first part is the input."""
    norms = [m for m in model.modules() if isinstance(m, _BatchNorm)]
    if not norms:
        return
    before, was_training = [norm.momentum for norm in norms], model.training
    for norm in norms:
        norm.reset_running_stats()
        # Without a momentum the statistics are means over all batches.
        norm.momentum = None
    model.train()
    try:
        for batch in loader:
            x = batch[0] if isinstance(batch, list | tuple) else batch
            model(x if device is None else x.to(device))
    finally:
        for norm, momentum in zip(norms, before, strict=True):
            norm.momentum = momentum
        model.train(was_training)


class SWALR(LRScheduler):
    """The rates from where they are to ``swa_lr``, a number or a list, in ``anneal_epochs``; then constant."""

    def __init__(
        self,
        optimizer: Optimizer,
        swa_lr: float | list[float],
        anneal_epochs: int = 10,
        anneal_strategy: str = "cos",
        last_epoch: int = -1,
    ) -> None:
        if anneal_strategy not in schedules.ANNEALING:
            raise ValueError(f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}")
        if not isinstance(anneal_epochs, int) or anneal_epochs < 0:
            raise ValueError(f"anneal_epochs must be equal or greater than 0, got {anneal_epochs}")
        for lr, group in zip(for_groups("swa_lr", optimizer, swa_lr), optimizer.param_groups, strict=True):
            group["swa_lr"] = lr
        self._anneal_strategy = anneal_strategy
        self.anneal_epochs = anneal_epochs
        super().__init__(optimizer, last_epoch)

    def _fg_part(self, step: int) -> float:
        """How far the rates have gone at a step, from 0 to 1."""
        part = max(0, min(1, step / max(1, self.anneal_epochs)))
        return (1 - math.cos(math.pi * part)) / 2 if self._anneal_strategy == "cos" else part

    def get_lr(self) -> list[Rate]:
        """The rates at ``last_epoch``."""
        self._fg_expect_step()
        step = self._step_count - 1
        if self.anneal_epochs == 0:
            step = max(1, step)
        before, now = self._fg_part(step - 1), self._fg_part(step)
        found = []
        for group in self.optimizer.param_groups:
            lr, end = group["lr"], group["swa_lr"]
            # Where the rate would have begun, so that other schedules may change it before.
            start = end if before == 1 else (lr - before * end) / (1 - before)
            found.append(end * now + start * (1 - now))
        return found


__dir__ = _public.names(globals())
