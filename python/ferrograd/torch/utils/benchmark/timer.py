"""Times of statements."""

from __future__ import annotations

import math
import timeit
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np

from ferrograd import _core
from ferrograd._kit import public as _public

__all__ = ["Measurement", "TaskSpec", "Timer", "select_unit"]

_UNITS = (("ns", "nanosecond", 1e-9), ("us", "microsecond", 1e-6), ("ms", "millisecond", 1e-3), ("s", "second", 1.0))


def select_unit(t: float) -> tuple[str, float]:
    """The largest unit of time that is not above a time: its sign and its seconds."""
    for sign, _, seconds in reversed(_UNITS):
        if t >= seconds:
            return sign, seconds
    return _UNITS[0][0], _UNITS[0][2]


@dataclass(frozen=True)
class TaskSpec:
    """What was timed, and under which names."""

    stmt: str
    setup: str
    global_setup: str = ""
    label: str | None = None
    sub_label: str | None = None
    description: str | None = None
    env: str | None = None
    num_threads: int = 1

    @property
    def title(self) -> str:
        """The label, or the statement if there is none."""
        if self.label is not None:
            return self.label + (f": {self.sub_label}" if self.sub_label else "")
        return self.stmt if "\n" not in self.stmt else "[multiple statements]"

    def setup_str(self) -> str:
        """The setup as the text of a measurement shows it; empty if there is none."""
        if self.setup in ("", "pass"):
            return ""
        return f"setup:\n  {self.setup}".replace("\n", "\n  ") if "\n" in self.setup else f"setup: {self.setup}"


@dataclass(repr=False)
class Measurement:
    """Times of a statement: ``raw_times`` are seconds of ``number_per_run`` runs each."""

    number_per_run: int
    raw_times: list[float]
    task_spec: TaskSpec
    metadata: dict[Any, Any] | None = None

    @property
    def times(self) -> list[float]:
        """The seconds of one run, for each measurement."""
        return [t / self.number_per_run for t in self.raw_times]

    @property
    def median(self) -> float:
        """The median of the times."""
        return float(np.median(self.times)) if self.raw_times else math.nan

    @property
    def mean(self) -> float:
        """The mean of the times."""
        return float(np.mean(self.times)) if self.raw_times else math.nan

    @property
    def iqr(self) -> float:
        """The distance between the first and the third quartile."""
        if not self.raw_times:
            return math.nan
        low, high = np.quantile(self.times, [0.25, 0.75])
        return float(high - low)

    @property
    def significant_figures(self) -> int:
        """How many digits of the median the spread supports: at least one, at most five."""
        count = len(self.raw_times)
        if count < 2 or not self.median:
            return 3
        error = self.iqr / 1.349 / math.sqrt(count) / self.median
        return max(1, min(5, -math.floor(math.log10(error)) if error > 0 else 5))

    @property
    def has_warnings(self) -> bool:
        """Whether the times spread by more than a tenth of their median."""
        return not self.meets_confidence()

    def meets_confidence(self, threshold: float = 0.1) -> bool:
        """Whether the quartiles are no further apart than a share of the median."""
        return len(self.raw_times) < 2 or self.iqr / self.median < threshold

    @property
    def title(self) -> str:
        """The label, or the statement if there is none."""
        return self.task_spec.title

    @property
    def env(self) -> str:
        """The name of the surroundings."""
        return "Unspecified env" if self.task_spec.env is None else self.task_spec.env

    @property
    def as_row_name(self) -> str:
        """The name of the row in a table."""
        return self.task_spec.sub_label or self.task_spec.stmt or "[Unknown]"

    @staticmethod
    def merge(measurements: Iterable[Measurement]) -> list[Measurement]:
        """One measurement for each task, with the times of one run."""
        found: dict[TaskSpec, list[float]] = {}
        for m in measurements:
            found.setdefault(m.task_spec, []).extend(m.times)
        return [Measurement(1, times, spec) for spec, times in found.items()]

    def __repr__(self) -> str:
        spec, count = self.task_spec, len(self.raw_times)
        sign, unit = select_unit(self.median)
        lines = [f"Measurement of {spec.title}"]
        lines += [line for line in (spec.description, spec.setup_str()) if line]
        runs = f"{self.number_per_run} run{'s' if self.number_per_run > 1 else ''} each"
        threads = f"{spec.num_threads} thread{'s' if spec.num_threads > 1 else ''}"
        if count > 1:
            low, high = np.quantile(self.times, [0.25, 0.75]) / unit
            lines += [f"  Median: {self.median / unit:.2f} {sign}"]
            lines += [f"  IQR:    {self.iqr / unit:.2f} {sign} ({low:.2f} to {high:.2f})"]
        else:
            lines += [f"  {self.median / unit:.2f} {sign}"]
        lines += [f"  {count} measurement{'s' if count > 1 else ''}, {runs}, {threads}"]
        if self.has_warnings:
            lines += ["  WARNING: the quartiles are further apart than a tenth of the median."]
        return "\n".join(lines)


class Timer:
    """Times a statement of Python, with one thread unless told otherwise.

    >>> from ferrograd.torch.utils.benchmark import Timer
    >>> found = Timer("x + x", globals={"x": 1}).timeit(10)
    >>> found.number_per_run, len(found.times)
    (10, 1)
    """

    def __init__(
        self,
        stmt: str = "pass",
        setup: str = "pass",
        global_setup: str = "",
        timer: Callable[[], float] = timeit.default_timer,
        globals: dict[str, Any] | None = None,
        label: str | None = None,
        sub_label: str | None = None,
        description: str | None = None,
        env: str | None = None,
        num_threads: int = 1,
        language: Any = "python",
    ) -> None:
        if not isinstance(stmt, str):
            raise ValueError("Currently only a `str` stmt is supported.")
        if str(language).lower() not in ("python", "language.python", "py") or global_setup:
            raise ValueError("Timer: only statements of Python are timed here")
        self._globals = {"torch": import_module("ferrograd.torch"), **(globals or {})}
        self._spec = TaskSpec(
            _unindented(stmt), _unindented(setup), "", label, sub_label, description, env, int(num_threads)
        )
        self._timer = timeit.Timer(self._spec.stmt, self._spec.setup, timer, self._globals)

    def _time(self, number: int) -> float:
        return max(self._timer.timeit(number), 1e-9)

    def _threads(self) -> _Threads:
        return _Threads(self._spec.num_threads)

    def timeit(self, number: int = 1000000) -> Measurement:
        """One measurement of ``number`` runs, after some to warm up."""
        with self._threads():
            self._time(max(number // 100, 2))
            return Measurement(number, [self._time(number)], self._spec)

    def repeat(self, repeat: int = -1, number: int = -1) -> None:
        """Raises: :meth:`blocked_autorange` chooses the numbers."""
        raise NotImplementedError("See `Timer.blocked_autorange.`")

    def autorange(self, callback: Any = None) -> None:
        """Raises: :meth:`blocked_autorange` chooses the numbers."""
        raise NotImplementedError("See `Timer.blocked_autorange.`")

    def _number(self, min_run_time: float) -> int:
        """How many runs take long enough for the clock and a thousandth of the whole time."""
        number = 1
        while True:
            taken = self._time(number)
            if taken >= min(1e-3, min_run_time / 10) or number >= 1_000_000_000:
                return number
            number *= 10

    def blocked_autorange(self, callback: Any = None, min_run_time: float = 0.2) -> Measurement:
        """Measures blocks of runs until they took ``min_run_time`` seconds."""
        with self._threads():
            number, times = self._number(min_run_time), list[float]()
            while sum(times) < min_run_time:
                times.append(self._time(number))
                if callback is not None:
                    callback(number, times[-1])
            return Measurement(number, times, self._spec)

    def adaptive_autorange(
        self, threshold: float = 0.1, *, min_run_time: float = 0.01, max_run_time: float = 10.0, callback: Any = None
    ) -> Measurement:
        """Measures blocks of runs until the quartiles are within a share ``threshold`` of the median."""
        with self._threads():
            number, times = self._number(min_run_time), list[float]()
            while sum(times) < max_run_time:
                times.append(self._time(number))
                if callback is not None:
                    callback(number, times[-1])
                found = Measurement(number, times, self._spec)
                if len(times) >= 4 and sum(times) >= min_run_time and found.meets_confidence(threshold):
                    break
            return Measurement(number, times, self._spec)


class _Threads:
    """Sets the number of threads for a while."""

    def __init__(self, count: int) -> None:
        self._count = count

    def __enter__(self) -> None:
        self._fg_before = _core.num_threads()
        _core.set_num_threads(self._count)

    def __exit__(self, *error: object) -> None:
        _core.set_num_threads(self._fg_before)


def _unindented(text: str) -> str:
    """A program without the indent that all its lines have."""
    lines = text.rstrip().lstrip("\n").split("\n")
    indents = [len(line) - len(line.lstrip()) for line in lines if line.strip()]
    return "\n".join(line[min(indents, default=0) :].rstrip() for line in lines)


__dir__ = _public.names(globals())
