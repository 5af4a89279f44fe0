"""``torch.autograd.profiler``: the cost of ops, gradient rules and named regions, by :func:`ferrograd.profile`."""

from __future__ import annotations

import threading
import time
import warnings
from collections.abc import Iterable
from contextlib import AbstractContextManager, ContextDecorator
from dataclasses import dataclass

from ferrograd import _public
from ferrograd._autograd import profiling as _profiling
from ferrograd._core import ArgumentError

__all__ = ["EventList", "FunctionEventAvg", "emit_itt", "emit_nvtx", "profile", "record_function"]

#: Times of devices that are not here, which are zero in all rows.
_ZERO = [f"{own}{device}_time_total" for own in ("", "self_") for device in ("cuda", "device")]


@dataclass
class FunctionEventAvg:
    """The cost of one op, of its gradient rule (``"... backward"``) or of a region: calls and microseconds in total.

    ``self_cpu_time_total`` of a region is 0: the ops inside have rows of their own.
    """

    key: str
    count: int
    cpu_time_total: float
    self_cpu_time_total: float

    @property
    def cpu_time(self) -> float:
        """The mean time of a call in microseconds."""
        return self.cpu_time_total / max(self.count, 1)


class EventList(list[FunctionEventAvg]):
    """The rows of a profile."""

    @property
    def self_cpu_time_total(self) -> float:
        """The total time of all ops and gradient rules in microseconds."""
        return sum(e.self_cpu_time_total for e in self)

    def total_average(self) -> FunctionEventAvg:
        """All rows as one."""
        total = sum(e.cpu_time_total for e in self)
        return FunctionEventAvg("Total", sum(e.count for e in self), total, self.self_cpu_time_total)

    def table(self, sort_by: str | None = None, row_limit: int = 100) -> str:
        """The first ``row_limit`` rows as text, sorted by the attribute ``sort_by`` in descending order."""
        rows: Iterable[FunctionEventAvg] = self
        if sort_by is not None:
            if sort_by not in ("count", "cpu_time", "cpu_time_total", "self_cpu_time_total", *_ZERO):
                raise ArgumentError(f"table: {sort_by!r} is nothing to sort by")
            rows = self if sort_by in _ZERO else sorted(self, key=lambda e: -float(getattr(e, sort_by)))
        shown = list(rows)[: row_limit if row_limit >= 0 else None]
        width = max([24, *(len(e.key) + 2 for e in shown)])
        lines = [f"{'Name':<{width}}{'Self CPU us':>14}{'CPU total us':>14}{'CPU mean us':>14}{'# of Calls':>12}"]
        for e in shown:
            us = "".join(f"{t:>14.3f}" for t in (e.self_cpu_time_total, e.cpu_time_total, e.cpu_time))
            lines.append(f"{e.key:<{width}}{us}{e.count:>12}")
        return "\n".join([*lines, f"Self CPU time total: {self.self_cpu_time_total / 1e3:.3f}ms"])


class _Running(threading.local):
    """The profiles that are running on this thread."""

    def __init__(self) -> None:
        self.profiles: list[profile] = []


_running = _Running()


class profile:
    """Measures the time of every op that this thread runs in the context.

    The CPU is the only device. Switches for anything but times change nothing.

    >>> import ferrograd.torch as torch
    >>> x = torch.ones(3, requires_grad=True)
    >>> with torch.autograd.profiler.profile() as prof:
    ...     with torch.autograd.profiler.record_function("mine"):
    ...         x.sin().sum().backward()
    >>> [(e.key, e.count) for e in prof.key_averages()]
    [('sin', 1), ('sin backward', 1), ('sum', 1), ('sum backward', 1), ('mine', 1)]
    """

    def __init__(
        self,
        enabled: bool = True,
        *,
        use_cpu: bool = True,
        use_cuda: bool = False,
        use_device: str | None = None,
        use_kineto: bool = False,
        record_shapes: bool = False,
        with_flops: bool = False,
        profile_memory: bool = False,
        with_stack: bool = False,
        with_modules: bool = False,
        acc_events: bool = False,
    ) -> None:
        if use_cuda or use_device not in (None, "cpu"):
            warnings.warn("CUDA is not available, disabling CUDA profiling", stacklevel=2)
        self.enabled = enabled
        self._watched: AbstractContextManager[_profiling.Profile] | None = None
        self._costs: _profiling.Profile | None = None
        self._regions: dict[str, _profiling.Cost] = {}
        self._done = False

    def __enter__(self) -> profile:
        """Starts measuring; raises if the profile was used before."""
        if not self.enabled:
            return self
        if self._watched is not None:
            raise ArgumentError("Profiler context manager is not reentrant")
        self._watched = _profiling.profile()
        self._costs = self._watched.__enter__()
        _running.profiles.append(self)
        return self

    def __exit__(self, *error: object) -> None:
        """Stops measuring."""
        if self._watched is not None:
            _running.profiles.remove(self)
            self._watched.__exit__(None, None, None)
            self._done = True

    def key_averages(self, group_by_input_shape: bool = False, group_by_stack_n: int = 0) -> EventList:
        """A row for each op, gradient rule and region."""
        if self._costs is None or not self._done:
            raise ArgumentError("Profiler didn't finish running")
        rows = EventList()
        for name in sorted(self._costs.forward.keys() | self._costs.backward.keys()):
            for costs, suffix in ((self._costs.forward, ""), (self._costs.backward, " backward")):
                if name in costs:
                    us = costs[name].seconds * 1e6
                    rows.append(FunctionEventAvg(name + suffix, costs[name].calls, us, us))
        for name, cost in self._regions.items():
            rows.append(FunctionEventAvg(name, cost.calls, cost.seconds * 1e6, 0.0))
        return rows

    def table(self, sort_by: str | None = None, row_limit: int = 100) -> str:
        """:meth:`key_averages` as text."""
        return self.key_averages().table(sort_by, row_limit)

    def total_average(self) -> FunctionEventAvg:
        """All rows as one."""
        return self.key_averages().total_average()

    @property
    def self_cpu_time_total(self) -> float:
        """The total time of all ops and gradient rules in microseconds."""
        return self.key_averages().self_cpu_time_total

    def __str__(self) -> str:
        return self.table() if self._done else "<unfinished torch.autograd.profile>"


class record_function(ContextDecorator):
    """A named region of the program, as a context manager or decorator: a row in the running profiles."""

    def __init__(self, name: str, args: str | None = None) -> None:
        self.name = name

    def __enter__(self) -> record_function:
        """Starts the region."""
        self._begun = time.perf_counter()
        return self

    def __exit__(self, *_: object) -> None:
        """Ends the region and adds its time."""
        cost = _profiling.Cost(1, time.perf_counter() - self._begun)
        for running in _running.profiles:
            running._regions[self.name] = running._regions.get(self.name, _profiling.Cost()) + cost

    def _recreate_cm(self) -> record_function:
        # Each call of a decorated function has its own start time.
        return record_function(self.name)


class emit_nvtx:
    """Marks for the CUDA profiler: raises ArgumentError, as there is no CUDA device."""

    def __init__(self, enabled: bool = True, record_shapes: bool = False) -> None:
        self.enabled = enabled

    def __enter__(self) -> emit_nvtx:
        """Raises ArgumentError if enabled."""
        if self.enabled:
            raise ArgumentError(f"{type(self).__name__}: there is no device with a profiler of its own: use profile()")
        return self

    def __exit__(self, *_: object) -> None:
        """Does nothing."""


class emit_itt(emit_nvtx):
    """Marks for Intel's profiler: raises ArgumentError, as it is not supported."""


__dir__ = _public.names(globals())
