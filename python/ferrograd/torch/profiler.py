"""``torch.profiler``: :class:`torch.autograd.profiler.profile` under its newer name."""

from __future__ import annotations

import enum
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from ferrograd import _public
from ferrograd.torch.autograd import profiler as _profiler
from ferrograd.torch.autograd.profiler import record_function

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
    """What is measured: here always the CPU."""

    CPU = 0
    CUDA = 1
    XPU = 2


class ProfilerAction(enum.Enum):
    """What a profiler does in a step."""

    NONE = 0
    WARMUP = 1
    RECORD = 2
    RECORD_AND_SAVE = 3


def schedule(
    *, wait: int, warmup: int, active: int, repeat: int = 0, skip_first: int = 0, **options: Any
) -> Callable[[int], ProfilerAction]:
    """What torch's profiler does in each step. Here :class:`profile` measures every step."""

    def action(step: int) -> ProfilerAction:
        step, length = step - skip_first, wait + warmup + active
        if step < 0 or (repeat and step >= repeat * length):
            return ProfilerAction.NONE
        at = step % length
        if at < wait:
            return ProfilerAction.NONE
        if at < wait + warmup:
            return ProfilerAction.WARMUP
        return ProfilerAction.RECORD_AND_SAVE if at == length - 1 else ProfilerAction.RECORD

    return action


def kineto_available() -> bool:
    """Whether there is a profiler with a timeline: no.

    >>> import ferrograd.torch as torch
    >>> torch.profiler.kineto_available()
    False
    """
    return False


def tensorboard_trace_handler(
    dir_name: str, worker_name: str | None = None, use_gzip: bool = False
) -> Callable[[Any], None]:
    """A function for ``on_trace_ready`` that writes the table of a profile to a file of text: there is no timeline.

    >>> import pathlib, tempfile
    >>> import ferrograd.torch as torch
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with torch.profiler.profile(on_trace_ready=torch.profiler.tensorboard_trace_handler(folder, "me")):
    ...         y = torch.ones(2).sin()
    ...     "sin" in (pathlib.Path(folder) / "me.txt").read_text()
    True
    """

    def write(found: Any) -> None:
        folder = Path(dir_name)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{worker_name or os.getpid()}.txt").write_text(found.key_averages().table())

    return write


class profile(_profiler.profile):
    """Measures the time of every op that this thread runs in the context, in all steps.

    ``on_trace_ready`` is called with the profile at the end. Other options change nothing.
    """

    def __init__(
        self,
        *,
        activities: Iterable[ProfilerActivity] | None = None,
        schedule: Callable[[int], ProfilerAction] | None = None,
        on_trace_ready: Callable[[Any], Any] | None = None,
        **options: Any,
    ) -> None:
        super().__init__()
        self.on_trace_ready, self.step_num = on_trace_ready, 0

    def start(self) -> None:
        """Starts measuring."""
        self.__enter__()

    def stop(self) -> None:
        """Stops measuring."""
        self.__exit__(None, None, None)

    def step(self) -> None:
        """Counts a step."""
        self.step_num += 1

    def __exit__(self, *error: object) -> None:
        """Stops measuring and calls ``on_trace_ready``."""
        super().__exit__(*error)
        if self.on_trace_ready is not None:
            self.on_trace_ready(self)


__dir__ = _public.names(globals())
