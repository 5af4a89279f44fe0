"""``torch.profiler``: :class:`torch.autograd.profiler.profile` under its newer name."""

from __future__ import annotations

import enum
import json
import os
import socket
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from ferrograd._kit import public as _public
from ferrograd.torch.autograd import profiler as _profiler
from ferrograd.torch.autograd.profiler import kineto_available, record_function

__all__ = [
    "ProfilerAction",
    "ProfilerActivity",
    "kineto_available",
    "profile",
    "record_function",
    "schedule",
    "tensorboard_trace_handler",
]


class ProfilerActivity(enum.Enum):
    """What a profile measures. Here it is always the CPU."""

    CPU = 0
    CUDA = 1
    XPU = 2
    MTIA = 3
    HPU = 4
    PrivateUse1 = 5


class ProfilerAction(enum.Enum):
    """What a profiler does in a step."""

    NONE = 0
    WARMUP = 1
    RECORD = 2
    RECORD_AND_SAVE = 3


def schedule(
    *, wait: int, warmup: int, active: int, repeat: int = 0, skip_first: int = 0, skip_first_wait: int = 0
) -> Callable[[int], ProfilerAction]:
    """What a profiler does in each step: cycles of steps that wait, warm up, and are measured.

    Args:
        wait: how many steps of a cycle are not measured.
        warmup: how many then run before the measured ones, which are not measured either.
        active: how many are measured; after the last, ``on_trace_ready`` is called.
        repeat: the number of cycles; 0 stands for as many as there are.
        skip_first: how many steps come before the first cycle.
        skip_first_wait: whether the first cycle begins without waiting.

    Raises:
        ValueError: a negative number, or no active step.
    """
    if min(wait, warmup, repeat, skip_first) < 0 or active <= 0:
        raise ValueError("Invalid profiler schedule arguments")
    length = wait + warmup + active

    def action(step: int) -> ProfilerAction:
        if step < skip_first:
            return ProfilerAction.NONE
        step += (wait if skip_first_wait else 0) - skip_first
        at = step % length
        if (repeat and step >= repeat * length) or at < wait:
            return ProfilerAction.NONE
        if at < wait + warmup:
            return ProfilerAction.WARMUP
        return ProfilerAction.RECORD_AND_SAVE if at == length - 1 else ProfilerAction.RECORD

    return action


def tensorboard_trace_handler(
    dir_name: str, worker_name: str | None = None, use_gzip: bool = False
) -> Callable[[Any], None]:
    """A function for ``on_trace_ready`` that writes the events of a profile to a file of a folder.

    >>> import pathlib, tempfile
    >>> import ferrograd.torch as torch
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with torch.profiler.profile(on_trace_ready=torch.profiler.tensorboard_trace_handler(folder, "me")):
    ...         y = torch.ones(2).sin()
    ...     [path.name.split(".")[0] for path in pathlib.Path(folder).glob("*.pt.trace.json")]
    ['me']
    """

    def write(found: Any) -> None:
        folder = Path(dir_name)
        folder.mkdir(parents=True, exist_ok=True)
        worker = worker_name or f"{socket.gethostname()}_{os.getpid()}"
        found.export_chrome_trace(folder / f"{worker}.{time.time_ns()}.pt.trace.json{'.gz' * use_gzip}")

    return write


#: What measures.
_MEASURED = (ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE)


class profile(_profiler.profile):
    """Measures the time of every op that this thread runs in the context, in all steps or those of a schedule.

    ``on_trace_ready`` is called with the profile after each cycle of the schedule, or at the end without one. The
    events of a cycle replace those of the one before it, unless ``acc_events``. Options of other devices change
    nothing.

    >>> import ferrograd.torch as torch
    >>> counts, schedule = [], torch.profiler.schedule(wait=1, warmup=1, active=2)
    >>> with torch.profiler.profile(schedule=schedule, on_trace_ready=lambda p: counts.append(len(p.events()))) as prof:
    ...     for _ in range(8):
    ...         y = torch.ones(2).sin()
    ...         prof.step()
    >>> len(counts)
    2
    """

    def __init__(
        self,
        *,
        activities: Iterable[ProfilerActivity] | None = None,
        schedule: Callable[[int], ProfilerAction] | None = None,
        on_trace_ready: Callable[[Any], Any] | None = None,
        record_shapes: bool = False,
        profile_memory: bool = False,
        with_stack: bool = False,
        acc_events: bool = False,
        **options: Any,
    ) -> None:
        super().__init__(profile_memory=profile_memory, with_stack=with_stack)
        self.schedule, self.on_trace_ready, self.step_num = schedule, on_trace_ready, 0
        self.current_action, self._accumulates = ProfilerAction.NONE, acc_events
        self._metadata: dict[str, Any] = {}
        self._step_begun = 0.0

    def __enter__(self) -> profile:
        """Starts the first step."""
        self.start()
        return self

    def __exit__(self, *error: object) -> None:
        """Ends the last step; calls ``on_trace_ready`` if it was measured."""
        self.stop()

    def start(self) -> None:
        """Starts the first step."""
        self._enter(self._planned())

    def stop(self) -> None:
        """Ends the last step; calls ``on_trace_ready`` if it was measured."""
        if self.current_action in _MEASURED:
            self._leave(is_ready=True)
        self.current_action = ProfilerAction.NONE
        self._done = True

    def step(self) -> None:
        """Ends a step and begins the next."""
        before = self.current_action
        self._note_step()
        self.step_num += 1
        after = self._planned()
        if before in _MEASURED and (before is ProfilerAction.RECORD_AND_SAVE or after not in _MEASURED):
            self._leave(is_ready=before is ProfilerAction.RECORD_AND_SAVE)
        self._enter(after)

    def _planned(self) -> ProfilerAction:
        return ProfilerAction.RECORD if self.schedule is None else self.schedule(self.step_num)

    def _enter(self, action: ProfilerAction) -> None:
        self.current_action = action
        if action in _MEASURED and self._watched is None:
            if not self._accumulates:
                self._events = []
            begun = self._begun
            self._done = False
            self._begin()
            # Events of several cycles have their times since the first.
            self._begun = begun if self._events else self._begun
        self._step_begun = time.perf_counter()

    def _leave(self, is_ready: bool) -> None:
        if self._watched is not None:
            self._note_step()
            self._end()
            self._watched = None
        if is_ready and self.on_trace_ready is not None:
            self.on_trace_ready(self)

    def _note_step(self) -> None:
        """Notes a measured step as a region. Steps without a schedule are none."""
        if self.schedule is not None and self._watched is not None and self._step_begun:
            self._region(f"ProfilerStep#{self.step_num}", self._step_begun, _profiler.mark())
            self._step_begun = 0.0

    def add_metadata(self, key: str, value: str) -> None:
        """Adds a text to the files of :meth:`export_chrome_trace`."""
        self._metadata[key] = value

    def add_metadata_json(self, key: str, value: str) -> None:
        """Adds a value in JSON to the files of :meth:`export_chrome_trace`."""
        self._metadata[key] = json.loads(value)

    def export_chrome_trace(self, path: str | os.PathLike[str]) -> None:
        """Writes the events as JSON for chrome://tracing and https://ui.perfetto.dev; compressed if it ends in .gz."""
        self.events().export_chrome_trace(path, self._metadata)


def _default_schedule_fn(_: int) -> Any:
    """Every step is recorded."""
    return ProfilerAction.RECORD


__dir__ = _public.names(globals())
