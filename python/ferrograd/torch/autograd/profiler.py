"""``torch.autograd.profiler``: the cost of ops, gradient rules and named regions, by :func:`ferrograd.profile`."""

from __future__ import annotations

import gzip
import json
import os
import threading
import time
from collections.abc import Iterable
from contextlib import ContextDecorator, ExitStack
from dataclasses import dataclass, field, replace
from typing import Any

from ferrograd import _core
from ferrograd._autograd.debugging import watched
from ferrograd._core import ArgumentError
from ferrograd._kit import public as _public
from ferrograd._kit.warning import warn

__all__ = [
    "EventList",
    "FunctionEvent",
    "FunctionEventAvg",
    "emit_itt",
    "emit_nvtx",
    "kineto_available",
    "profile",
    "record_function",
]

#: Times of devices that are not here, which are zero in all rows.
_ZERO = [f"{own}{device}_time_total" for own in ("", "self_") for device in ("cuda", "device")]
#: What a table is sorted by.
_KEYS = ("count", "cpu_time", "cpu_time_total", "self_cpu_time_total", "cpu_memory_usage", "self_cpu_memory_usage")


def kineto_available() -> bool:
    """Whether there is a profiler with a timeline: no.

    >>> import ferrograd.torch as torch
    >>> torch.profiler.kineto_available()
    False
    """
    return False


@dataclass
class FunctionEventAvg:
    """The cost of one op, of its gradient rule (``"... backward"``) or of a region: calls and microseconds in total.

    ``cpu_memory_usage`` has the bytes of the results. ``self_cpu_time_total`` of a region is 0, as are its bytes: the
    ops inside have rows of their own.
    """

    key: str
    count: int
    cpu_time_total: float
    self_cpu_time_total: float
    cpu_memory_usage: int = 0
    #: The line of the program that called, where a profile looked for it.
    stack: list[str] = field(default_factory=list)

    @property
    def name(self) -> str:
        """The key."""
        return self.key

    @property
    def self_cpu_memory_usage(self) -> int:
        """The bytes of the results."""
        return self.cpu_memory_usage

    @property
    def cpu_time(self) -> float:
        """The mean time of a call in microseconds."""
        return self.cpu_time_total / max(self.count, 1)


@dataclass
class FunctionEvent(FunctionEventAvg):
    """What ran between two marks: the calls of one op from one line, or a region.

    A mark is the begin or the end of a region, of a step or of the profile. The time of a region is where it ran. The
    ops between two marks stand behind each other from the first, with the time that all their calls took.
    """

    #: When it began, in microseconds since the profile did.
    start: float = 0.0
    thread: int = 0
    is_user_annotation: bool = False

    @property
    def end(self) -> float:
        """When it ended, in microseconds since the profile began."""
        return self.start + self.cpu_time_total


class EventList(list[FunctionEventAvg]):
    """The rows of a profile, or its events."""

    #: Whether tables have columns of memory.
    with_memory = False

    @property
    def self_cpu_time_total(self) -> float:
        """The total time of all ops and gradient rules in microseconds."""
        return sum(e.self_cpu_time_total for e in self)

    def total_average(self) -> FunctionEventAvg:
        """All rows as one."""
        total, memory = sum(e.cpu_time_total for e in self), sum(e.cpu_memory_usage for e in self)
        return FunctionEventAvg("Total", sum(e.count for e in self), total, self.self_cpu_time_total, memory)

    def key_averages(self, group_by_input_shape: bool = False, group_by_stack_n: int = 0) -> EventList:
        """One row for each name; with ``group_by_stack_n``, for each name and line."""
        rows: dict[tuple[str, ...], FunctionEventAvg] = {}
        for e in self:
            # All steps are one row.
            name = "ProfilerStep*" if e.key.startswith("ProfilerStep#") else e.key
            key = (name, *e.stack[:group_by_stack_n])
            row = rows.setdefault(key, FunctionEventAvg(name, 0, 0.0, 0.0, 0, e.stack[:group_by_stack_n]))
            rows[key] = replace(
                row,
                count=row.count + e.count,
                cpu_time_total=row.cpu_time_total + e.cpu_time_total,
                self_cpu_time_total=row.self_cpu_time_total + e.self_cpu_time_total,
                cpu_memory_usage=row.cpu_memory_usage + e.cpu_memory_usage,
            )
        found = EventList(rows.values())
        found.with_memory = self.with_memory
        return found

    def table(
        self, sort_by: str | None = None, row_limit: int = 100, *, header: str | None = None, **options: Any
    ) -> str:
        """The first ``row_limit`` rows as text, sorted by the attribute ``sort_by`` in descending order.

        A ``header`` stands above it. Other ``options``, such as widths of columns, change nothing.
        """
        rows: Iterable[FunctionEventAvg] = self
        if sort_by is not None:
            if sort_by not in (*_KEYS, *_ZERO):
                raise ArgumentError(f"table: {sort_by!r} is nothing to sort by")
            rows = self if sort_by in _ZERO else sorted(self, key=lambda e: -float(getattr(e, sort_by)))
        shown = list(rows)[: row_limit if row_limit >= 0 else None]
        width = max([24, *(len(e.key) + 2 for e in shown)])
        memory = f"{'CPU Mem':>14}{'Self CPU Mem':>14}" * self.with_memory
        lines = [
            f"{'Name':<{width}}{'Self CPU us':>14}{'CPU total us':>14}{'CPU mean us':>14}{memory}{'# of Calls':>12}"
        ]
        for e in shown:
            us = "".join(f"{t:>14.3f}" for t in (e.self_cpu_time_total, e.cpu_time_total, e.cpu_time))
            memory = f"{_bytes(e.cpu_memory_usage):>14}{_bytes(e.self_cpu_memory_usage):>14}" * self.with_memory
            lines.append(f"{e.key:<{width}}{us}{memory}{e.count:>12}")
        lines = lines if header is None else [header, *lines]
        return "\n".join([*lines, f"Self CPU time total: {self.self_cpu_time_total / 1e3:.3f}ms"])

    def export_chrome_trace(self, path: str | os.PathLike[str], metadata: dict[str, Any] | None = None) -> None:
        """Writes the events as JSON for chrome://tracing and https://ui.perfetto.dev; compressed if it ends in .gz."""
        process = os.getpid()
        events = [_traced(e, process) for e in self if isinstance(e, FunctionEvent)]
        text = json.dumps({"displayTimeUnit": "ms", **(metadata or {}), "traceEvents": events})
        data = gzip.compress(text.encode()) if os.fspath(path).endswith(".gz") else text.encode()
        with open(path, "wb") as file:
            file.write(data)

    def export_stacks(self, path: str | os.PathLike[str], metric: str = "self_cpu_time_total") -> None:
        """Writes a line for each name and line of the program, with whole microseconds, for tools of flame graphs."""
        if metric not in ("self_cpu_time_total", *_ZERO[2:]):
            raise ValueError(f"metric should be one of: {['self_cpu_time_total', *_ZERO[2:]]}")
        rows = self.key_averages(group_by_stack_n=1) if metric == "self_cpu_time_total" else ()
        with open(path, "w", encoding="utf-8") as file:
            for e in rows:
                if e.stack and int(e.self_cpu_time_total) > 0:
                    file.write(f"{';'.join([*e.stack[::-1], e.key]).replace(' ', '_')} {int(e.self_cpu_time_total)}\n")


def _traced(e: FunctionEvent, process: int) -> dict[str, Any]:
    """An event as a trace has it."""
    facts: dict[str, Any] = {"calls": e.count, "bytes": e.cpu_memory_usage}
    if e.stack:
        facts["line"] = e.stack[0]
    kind = "user_annotation" if e.is_user_annotation else "cpu_op"
    about = {"ph": "X", "cat": kind, "name": e.key, "pid": process, "tid": e.thread}
    return {**about, "ts": e.start, "dur": e.cpu_time_total, "args": facts}


def _bytes(n: int) -> str:
    """A number of bytes as PyTorch's tables show it."""
    for power, unit in ((30, "Gb"), (20, "Mb"), (10, "Kb")):
        if n >= 1 << power:
            return f"{n / (1 << power):.2f} {unit}"
    return f"{n} b"


class _Running(threading.local):
    """The profiles that are running on this thread, and the last mark."""

    def __init__(self) -> None:
        self.profiles: list[profile] = []
        self.mark = 0.0

    def flush(self) -> float:
        """Gives the costs since the last mark to all profiles, and makes a mark; the time in seconds."""
        now = time.perf_counter()
        if self.profiles:
            rows = sorted(_core.take_profile(), key=lambda row: (row[0], row[1] or ""))
            for running in self.profiles:
                running._add(rows, self.mark)
        self.mark = time.perf_counter()
        return now


_running = _Running()


def mark() -> float:
    """Makes a mark for the running profiles; the time in seconds."""
    return _running.flush()


class profile:
    """Measures the time of every op that this thread runs in the context.

    The CPU is the only device. ``profile_memory`` gives tables columns with the bytes of results, and ``with_stack``
    keeps the line that called. Other switches change nothing.

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
            warn("CUDA is not available, disabling CUDA profiling")
        self.enabled, self.profile_memory, self.with_stack = enabled, profile_memory, with_stack
        self._watched: ExitStack | None = None
        self._events: list[FunctionEvent] = []
        self._begun = 0.0
        self._done = False

    def __enter__(self) -> profile:
        """Starts measuring; raises if the profile was used before."""
        if not self.enabled:
            return self
        if self._watched is not None:
            raise ArgumentError("Profiler context manager is not reentrant")
        self._begin()
        return self

    def __exit__(self, *error: object) -> None:
        """Stops measuring."""
        if self._watched is not None:
            self._end()

    def _begin(self) -> None:
        self._watched = ExitStack()
        self._watched.enter_context(watched("times"))
        self._watched.enter_context(watched("sites", self.with_stack or any(p.with_stack for p in _running.profiles)))
        _running.flush()
        _core.take_profile()
        _running.profiles.append(self)
        self._begun = _running.mark

    def _end(self) -> None:
        _running.flush()
        _running.profiles.remove(self)
        if self._watched is not None:
            self._watched.close()
        self._done = True

    def _add(self, rows: list[Any], mark: float) -> None:
        """Notes what ran since a mark."""
        at, thread = (mark - self._begun) * 1e6, threading.get_native_id()
        for op, site, costs in rows:
            stack = [site] if site and self.with_stack else []
            for name, (calls, seconds, size) in zip((op, f"{op} backward"), costs, strict=True):
                if calls:
                    us = seconds * 1e6
                    self._events.append(FunctionEvent(name, calls, us, us, size, stack, at, thread))
                    at += us

    def _region(self, name: str, begin: float, end: float) -> None:
        """Notes a region, by its times in seconds."""
        at, us = (begin - self._begun) * 1e6, (end - begin) * 1e6
        thread = threading.get_native_id()
        self._events.append(FunctionEvent(name, 1, us, 0.0, 0, [], at, thread, is_user_annotation=True))

    def _ended(self) -> list[FunctionEvent]:
        if not self._done:
            raise ArgumentError("Profiler didn't finish running")
        return self._events

    def events(self) -> EventList:
        """The events, with their times: see :class:`FunctionEvent`."""
        ordered: list[Any] = sorted(self._ended(), key=lambda e: (e.start, -e.end))
        found = EventList(ordered)
        found.with_memory = self.profile_memory
        return found

    def key_averages(self, group_by_input_shape: bool = False, group_by_stack_n: int = 0) -> EventList:
        """A row for each op, gradient rule and region; with ``group_by_stack_n``, for each line that called one."""
        ended = self._ended()
        ordered: list[Any] = sorted(ended, key=lambda e: (e.is_user_annotation, not e.is_user_annotation and e.key))
        found = EventList(ordered)
        found.with_memory = self.profile_memory
        return found.key_averages(group_by_input_shape, group_by_stack_n)

    def export_chrome_trace(self, path: str | os.PathLike[str]) -> None:
        """Writes the events as JSON for chrome://tracing and https://ui.perfetto.dev; compressed if it ends in .gz."""
        self.events().export_chrome_trace(path)

    def export_stacks(self, path: str | os.PathLike[str], metric: str = "self_cpu_time_total") -> None:
        """Writes a line for each name and line of the program, for tools that draw flame graphs.

        Raises:
            RuntimeError: the profile is not one ``with_stack``.
        """
        if not self.with_stack:
            raise RuntimeError("export_stacks() requires with_stack=True")
        self.events().export_stacks(path, metric)

    @property
    def function_events(self) -> EventList:
        """:meth:`events`."""
        return self.events()

    def table(self, sort_by: str | None = None, row_limit: int = 100, **options: Any) -> str:
        """:meth:`key_averages` as text: see :meth:`EventList.table`."""
        return self.key_averages().table(sort_by, row_limit, **options)

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
        self._begun = _running.flush()
        return self

    def __exit__(self, *_: object) -> None:
        """Ends the region and adds its time."""
        end = _running.flush()
        for running in _running.profiles:
            running._region(self.name, max(self._begun, running._begun), end)

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
