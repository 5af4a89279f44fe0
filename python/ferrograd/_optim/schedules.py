"""Formulas of learning rate schedules that both dialects have."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar, cast

from ferrograd._core import ArgumentError

L = TypeVar("L", bound=Callable[..., None])


def all_or_nothing(load: L) -> L:
    """The method of a schedule that loads a state. An error leaves the schedule as it was, and also the schedules and
    functions that it is made of.
    """

    @functools.wraps(load)
    def loaded(self: Any, state_dict: Any) -> None:
        __tracebackhide__ = True
        if not isinstance(state_dict, Mapping):
            kind = type(state_dict).__name__
            raise ArgumentError(f"{load.__name__}: the state of a schedule must be a dict, not {kind}")
        before = [(part, dict(vars(part))) for part in (self, *_parts(self, load.__name__))]
        try:
            load(self, state_dict)
        except BaseException:
            for part, were in before:
                vars(part).clear()
                vars(part).update(were)
            raise

    return cast(L, loaded)


def _parts(schedule: Any, name: str) -> Iterator[Any]:
    """The objects that a schedule is made of; those with a method of the ``name`` are schedules themselves."""
    for key, value in vars(schedule).items():
        for part in value if isinstance(value, list | tuple) else (value,):
            if key != "optimizer" and hasattr(part, "__dict__"):
                yield part
                if hasattr(part, name):
                    yield from _parts(part, name)


def cosine_step(rate: float, base: float, low: float, epoch: int, period: int) -> float:
    """The next rate of cosine annealing from ``base`` to ``low`` in ``period`` epochs, from the ``rate`` before it."""
    if (epoch - 1 - period) % (2 * period) == 0:
        # The rate before is the lowest, and a quotient would be 0 / 0.
        return rate + (base - low) * (1 - math.cos(math.pi / period)) / 2
    now, before = 1 + math.cos(math.pi * epoch / period), 1 + math.cos(math.pi * (epoch - 1) / period)
    return now / before * (rate - low) + low


def cosine(base: float, low: float, epoch: float, period: float) -> float:
    """The rate of cosine annealing at an epoch.

    >>> cosine(1.0, 0.0, 5, 10)
    0.5
    """
    return low + (base - low) * (1 + math.cos(math.pi * epoch / period)) / 2


def linear_factor(start: float, end: float, epoch: int, total: int) -> float:
    """The quotient of a rate and the one before it, where rates go from ``start`` to ``end`` on a line."""
    return 1.0 + (end - start) / (total * start + (epoch - 1) * (end - start))


def cosine_between(start: float, end: float, part: float) -> float:
    """The value at a part of the way from ``start`` to ``end``, along half a cosine."""
    return end + (start - end) / 2.0 * (math.cos(math.pi * part) + 1)


def line_between(start: float, end: float, part: float) -> float:
    """The value at a part of the way from ``start`` to ``end``.

    >>> line_between(1.0, 3.0, 0.25)
    1.5
    """
    return (end - start) * part + start


#: The ways from one value to another, by name.
ANNEALING: dict[str, Callable[[float, float, float], float]] = {"cos": cosine_between, "linear": line_between}


def restart(epoch: float, first: int, factor: int) -> tuple[float, int]:
    """Where an epoch lies if the period is ``first`` and grows by ``factor``: the epochs since the last restart, and
    the period.

    >>> restart(5, 3, 2), restart(2, 3, 2), restart(7, 3, 1)
    ((2.0, 6), (2, 3), (1, 3))
    """
    if epoch < first:
        return epoch, first
    if factor == 1:
        return epoch % first, first
    n = int(math.log(epoch / first * (factor - 1) + 1, factor))
    return epoch - first * (factor**n - 1) / (factor - 1), first * factor**n


class Restarts:
    """A schedule whose periods begin again: its attributes, and how it goes to an epoch."""

    last_epoch: int
    T_0: int
    T_i: int
    T_mult: int
    T_cur: float

    def _fg_set_period(self, T_0: int, T_mult: int, last_epoch: int) -> None:
        if not isinstance(T_0, int) or T_0 <= 0:
            raise ValueError(f"Expected positive integer T_0, but got {T_0}")
        if not isinstance(T_mult, int) or T_mult < 1:
            raise ValueError(f"Expected integer T_mult >= 1, but got {T_mult}")
        self.T_0 = T_0
        self.T_i = T_0
        self.T_mult = T_mult
        self.T_cur = last_epoch

    def _fg_go_to(self, epoch: float | None) -> None:
        """Goes to an epoch, which may be a fraction, or to the next one."""
        if epoch is None and self.last_epoch < 0:
            epoch = 0
        if epoch is None:
            epoch = self.last_epoch + 1
            self.T_cur += 1
            if self.T_cur >= self.T_i:
                self.T_cur %= self.T_i
                self.T_i *= self.T_mult
        elif epoch < 0:
            raise ValueError(f"Expected non-negative epoch, but got {epoch}")
        else:
            self.T_cur, self.T_i = restart(epoch, self.T_0, self.T_mult)
        self.last_epoch = math.floor(epoch)


def cycle(epoch: int, size: float, up: float) -> tuple[int, float]:
    """The number of the cycle, from 1, and the height in it, from 0 to 1. ``up`` is the part of it that rises.

    >>> cycle(1, 4.0, 0.5), cycle(6, 4.0, 0.5)
    ((1, 0.5), (2, 1.0))
    """
    number = math.floor(1 + epoch / size)
    part = 1.0 + epoch / size - number
    return number, part / up if part <= up else (part - 1) / (up - 1)


#: How the height of cycles changes, by the mode of a cyclic schedule: what it depends on, and the factor.
CYCLES: dict[str, tuple[str, Callable[[float, float], float]]] = {
    "triangular": ("cycle", lambda gamma, x: 1.0),
    "triangular2": ("cycle", lambda gamma, x: 1 / 2.0 ** (x - 1)),
    "exp_range": ("iterations", lambda gamma, x: gamma**x),
}
