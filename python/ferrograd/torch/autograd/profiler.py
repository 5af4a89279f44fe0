"""``torch.autograd.profiler``: the cost of ops, gradient rules and named regions, by :func:`ferrograd.profile`."""

from __future__ import annotations

import gzip
import json
import os
import threading
import time
from collections.abc import Iterable
from contextlib import ContextDecorator, ExitStack
from typing import Any, Generic, TypeVar

from ferrograd import _core
from ferrograd._autograd.debugging import watched
from ferrograd._core import ArgumentError
from ferrograd._kit import public as _public
from ferrograd._kit.warning import warn

__all__ = [
    "EventList",
    "FunctionEvent",
    "FunctionEventAvg",
    "Interval",
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


class Interval:
    """A span of time in microseconds."""

    def __init__(self, start: float, end: float) -> None:
        self.start, self.end = start, end

    def elapsed_us(self) -> float:
        """How long it is."""
        return self.end - self.start


class _Costs:
    """What events and rows have in common: the number of calls and the times in microseconds."""

    #: There is no device but the CPU.
    use_device: str | None = None
    device_time_total = self_device_time_total = device_memory_usage = self_device_memory_usage = 0
    count: int
    cpu_time_total: float
    self_cpu_time_total: float

    @property
    def cpu_time(self) -> float:
        """The mean time of a call in microseconds."""
        return self.cpu_time_total / max(self.count, 1)

    @property
    def device_time(self) -> float:
        """The mean time of a call on another device, which is 0."""
        return 0.0

    @property
    def cpu_time_str(self) -> str:
        """:attr:`cpu_time` as text."""
        return _format_time(self.cpu_time)

    @property
    def cpu_time_total_str(self) -> str:
        """:attr:`cpu_time_total` as text."""
        return _format_time(self.cpu_time_total)

    @property
    def self_cpu_time_total_str(self) -> str:
        """:attr:`self_cpu_time_total` as text."""
        return _format_time(self.self_cpu_time_total)


class FunctionEvent(_Costs):
    """What ran between two marks: the calls of one op from one line, or a region.

    A mark is the begin or the end of a region, of a step or of the profile. The time of a region is where it ran. The
    ops between two marks stand behind each other from the first, with the time that all their calls took.

    ``self_cpu_time_total`` is the time without that of :attr:`cpu_children`. That of a region is 0, as are its bytes:
    the ops inside have rows of their own. The parameters are those of PyTorch.
    """

    def __init__(
        self,
        id: int,
        name: str,
        thread: int,
        start_us: float,
        end_us: float,
        fwd_thread: int | None = None,
        input_shapes: Any = None,
        stack: list[str] | None = None,
        scope: int = 0,
        use_device: str | None = None,
        cpu_memory_usage: int = 0,
        device_memory_usage: int = 0,
        is_async: bool = False,
        is_remote: bool = False,
        sequence_nr: int = -1,
        node_id: int = -1,
        device_type: Any = None,
        device_index: int = 0,
        device_resource_id: int | None = None,
        is_legacy: bool = False,
        flops: int | None = None,
        trace_name: str | None = None,
        concrete_inputs: Any = None,
        kwinputs: Any = None,
        is_user_annotation: bool = False,
    ) -> None:
        self.id, self.name, self.thread, self.node_id = id, name, thread, node_id
        self.time_range = Interval(start_us, end_us)
        self.fwd_thread, self.input_shapes, self.scope = fwd_thread, input_shapes, scope
        #: The line of the program that called, where a profile looked for it.
        self.stack: list[str] = [] if stack is None else stack
        self.use_device, self.device_memory_usage = use_device, device_memory_usage
        self.is_async, self.is_remote, self.is_legacy = is_async, is_remote, is_legacy
        self.sequence_nr, self.flops, self.trace_name = sequence_nr, flops, trace_name
        self.device_type, self.device_index = device_type, device_index
        self.device_resource_id = thread if device_resource_id is None else device_resource_id
        self.concrete_inputs, self.kwinputs = concrete_inputs, kwinputs
        self.is_user_annotation = is_user_annotation
        self.count = 1
        #: The bytes of the results.
        self.cpu_memory_usage = cpu_memory_usage
        #: The events that ran inside of this one on its thread, and the one that this one ran in.
        self.cpu_children: list[FunctionEvent] = []
        self.cpu_parent: FunctionEvent | None = None

    @property
    def key(self) -> str:
        """The name."""
        return self.name

    @property
    def start(self) -> float:
        """When it began, in microseconds since the profile did."""
        return self.time_range.start

    @property
    def end(self) -> float:
        """When it ended, in microseconds since the profile began."""
        return self.time_range.end

    @property
    def cpu_time_total(self) -> float:  # type: ignore[override]
        """The time in microseconds."""
        return self.time_range.elapsed_us()

    @property
    def self_cpu_time_total(self) -> float:  # type: ignore[override]
        """The time without that of the events inside."""
        if self.is_async or self.is_user_annotation:
            return 0.0
        return self.cpu_time_total - sum(child.cpu_time_total for child in self.cpu_children)

    @property
    def self_cpu_memory_usage(self) -> int:
        """The bytes of the results."""
        return self.cpu_memory_usage

    def append_cpu_child(self, child: FunctionEvent) -> None:
        """Adds an event that ran inside of this one."""
        self.cpu_children.append(child)

    def set_cpu_parent(self, parent: FunctionEvent) -> None:
        """Sets the event that this one ran in."""
        self.cpu_parent = parent

    def __repr__(self) -> str:
        return (
            f"<FunctionEvent id={self.id} name={self.name} cpu_time={self.cpu_time_str} start_us={self.start} "
            f"end_us={self.end} cpu_children={[child.id for child in self.cpu_children]} thread={self.thread}>"
        )


class FunctionEventAvg(_Costs):
    """The cost of one op (``aten::sin``), of its gradient rule (``SinBackward0``) or of a region: calls and times.

    It is empty until events are added, all of them with one key.
    """

    def __init__(self) -> None:
        self.key: str = ""
        self.count = 0
        self.cpu_time_total = self.self_cpu_time_total = 0.0
        self.cpu_memory_usage = self.self_cpu_memory_usage = 0
        self.stack: list[str] = []
        self.is_user_annotation = False

    @property
    def name(self) -> str:
        """The key."""
        return self.key

    def add(self, other: FunctionEvent | FunctionEventAvg) -> FunctionEventAvg:
        """Adds the costs of an event or of another row; returns this one."""
        if not self.count:
            self.key, self.stack, self.is_user_annotation = other.key, other.stack, other.is_user_annotation
        if other.key != self.key:
            raise ArgumentError(f"FunctionEventAvg.add: an event of {self.key!r} is wanted, not of {other.key!r}")
        return self._sum(other)

    __iadd__ = add

    def _sum(self, other: FunctionEvent | FunctionEventAvg) -> FunctionEventAvg:
        """Adds costs under whatever key."""
        self.count += other.count
        self.cpu_time_total += other.cpu_time_total
        self.self_cpu_time_total += other.self_cpu_time_total
        self.cpu_memory_usage += other.cpu_memory_usage
        self.self_cpu_memory_usage += other.self_cpu_memory_usage
        return self

    def __repr__(self) -> str:
        return (
            f"<FunctionEventAvg key={self.key} count={self.count} self_cpu_time={self.self_cpu_time_total_str} "
            f"cpu_time={self.cpu_time_str} cpu_memory_usage={self.cpu_memory_usage}>"
        )


def _format_time(time_us: float) -> str:
    """Microseconds as text, in the largest unit of which there is one."""
    for size, unit in ((1e6, "s"), (1e3, "ms")):
        if time_us >= size:
            return f"{time_us / size:.3f}{unit}"
    return f"{time_us:.3f}us"


Row = TypeVar("Row", bound=FunctionEvent | FunctionEventAvg)


class EventList(list[Row], Generic[Row]):
    """The rows of a profile, or its events."""

    #: Whether tables have columns of memory.
    with_memory = False

    @property
    def self_cpu_time_total(self) -> float:
        """The total time of all ops and gradient rules in microseconds."""
        return sum(e.self_cpu_time_total for e in self)

    def total_average(self) -> FunctionEventAvg:
        """All rows as one."""
        total = FunctionEventAvg()
        for e in self:
            total._sum(e)
        total.key = "Total"
        return total

    def key_averages(
        self, group_by_input_shape: bool = False, group_by_stack_n: int = 0
    ) -> EventList[FunctionEventAvg]:
        """One row for each name; with ``group_by_stack_n``, for each name and line."""
        rows: dict[tuple[str, ...], FunctionEventAvg] = {}
        for e in self:
            # All steps are one row.
            name = "ProfilerStep*" if e.key.startswith("ProfilerStep#") else e.key
            stack = e.stack[:group_by_stack_n]
            row = rows.setdefault((name, *stack), FunctionEventAvg())
            row.key, row.stack, row.is_user_annotation = name, stack, e.is_user_annotation
            row._sum(e)
        found = EventList(rows.values())
        found.with_memory = self.with_memory
        return found

    def _populate_cpu_children(self) -> None:
        """Tells each event which others ran inside of it on its thread; two that only overlap are apart."""
        threads: dict[tuple[int, int], list[FunctionEvent]] = {}
        for e in self:
            if isinstance(e, FunctionEvent) and not e.is_async:
                threads.setdefault((e.thread, e.node_id), []).append(e)
        for events in threads.values():
            outer: list[FunctionEvent] = []
            for event in sorted(events, key=lambda e: (e.start, -e.end)):
                while outer and (event.start >= outer[-1].end or event.end > outer[-1].end):
                    outer.pop()
                if outer:
                    outer[-1].append_cpu_child(event)
                    event.set_cpu_parent(outer[-1])
                outer.append(event)

    def table(
        self, sort_by: str | None = None, row_limit: int = 100, *, header: str | None = None, **options: Any
    ) -> str:
        """The first ``row_limit`` rows as text, sorted by the attribute ``sort_by`` in descending order.

        A ``header`` stands above it. Other ``options``, such as widths of columns, change nothing.
        """
        rows: Iterable[Row] = self
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
            rows = _core.take_profile()
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
    [('SinBackward0', 1), ('SumBackward0', 1), ('aten::sin', 1), ('aten::sum', 1), ('mine', 1)]
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
            for name, (calls, seconds, size) in zip(_core.event_names(op), costs, strict=True):
                if calls:
                    us = seconds * 1e6
                    event = FunctionEvent(
                        len(self._events), name, thread, at, at + us, stack=stack, cpu_memory_usage=size
                    )
                    event.count = calls
                    self._events.append(event)
                    at += us

    def _region(self, name: str, begin: float, end: float) -> None:
        """Notes a region, by its times in seconds."""
        at, us = (begin - self._begun) * 1e6, (end - begin) * 1e6
        event = FunctionEvent(len(self._events), name, threading.get_native_id(), at, at + us, is_user_annotation=True)
        self._events.append(event)

    def _ended(self) -> list[FunctionEvent]:
        if not self._done:
            raise ArgumentError("Profiler didn't finish running")
        return self._events

    def events(self) -> EventList[FunctionEvent]:
        """The events, with their times: see :class:`FunctionEvent`."""
        found = EventList(sorted(self._ended(), key=lambda e: (e.start, -e.end)))
        for e in found:
            e.cpu_children.clear()
        found._populate_cpu_children()
        found.with_memory = self.profile_memory
        return found

    def key_averages(
        self, group_by_input_shape: bool = False, group_by_stack_n: int = 0
    ) -> EventList[FunctionEventAvg]:
        """A row for each op, gradient rule and region; with ``group_by_stack_n``, for each line that called one."""
        ended = self._ended()
        found = EventList(sorted(ended, key=lambda e: (e.is_user_annotation, not e.is_user_annotation and e.key)))
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
    def function_events(self) -> EventList[FunctionEvent]:
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
