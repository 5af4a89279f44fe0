"""``torch.multiprocessing``: Python's :mod:`multiprocessing`. Tensors that are sent to another process are copied, and
refused if they have a graph.

A program whose processes train one model in shared memory uses threads instead: :mod:`threading`, which share tensors.
"""

from __future__ import annotations

import multiprocessing as _python
import pickle
import signal
import sys
import time
import traceback
from multiprocessing import *  # noqa: F403
from multiprocessing import connection
from multiprocessing.reduction import ForkingPickler
from typing import Any

from ferrograd._core import TorchTensor
from ferrograd._kit import public as _public

__all__ = [
    *_python.__all__,
    "ProcessContext",
    "ProcessExitedException",
    "ProcessRaisedException",
    "get_all_sharing_strategies",
    "get_sharing_strategy",
    "set_sharing_strategy",
    "spawn",
    "start_processes",
]


def get_all_sharing_strategies() -> set[str]:
    """The ways to send a tensor: by a copy."""
    return {"copy"}


def get_sharing_strategy() -> str:
    """How a tensor is sent: by a copy."""
    return "copy"


def set_sharing_strategy(new_strategy: str) -> None:
    """Does nothing: tensors are sent by a copy."""


class ProcessException(Exception):
    """A process that :func:`spawn` started has failed: the one with the number ``error_index``."""

    def __init__(self, msg: str, error_index: int, error_pid: int) -> None:
        super().__init__(msg, error_index, error_pid)
        self.msg, self.error_index, self.error_pid = msg, error_index, error_pid

    def __str__(self) -> str:
        return self.msg


class ProcessRaisedException(ProcessException):
    """An error in a process. The text has its traceback."""


class ProcessExitedException(ProcessException):
    """A process has ended with an exit code other than 0, or by a signal."""

    def __init__(
        self, msg: str, error_index: int, error_pid: int, exit_code: int, signal_name: str | None = None
    ) -> None:
        super().__init__(msg, error_index, error_pid)
        self.exit_code, self.signal_name = exit_code, signal_name
        self.args = (msg, error_index, error_pid, exit_code, signal_name)


def _run(fn: Any, rank: int, args: tuple[Any, ...], report: Any) -> None:
    try:
        fn(rank, *args)
    except Exception:
        # A longer text would wait for a reader.
        report.send(traceback.format_exc()[-30_000:])
        sys.exit(1)


class ProcessContext:
    """The processes that :func:`spawn` has started, and where each reports its error."""

    def __init__(self, processes: list[Any], reports: list[Any]) -> None:
        self.processes, self._reports = processes, reports
        #: The processes that nobody has waited for yet, by the object that tells their end.
        self.sentinels = {process.sentinel: rank for rank, process in enumerate(processes)}

    def pids(self) -> list[int]:
        """The numbers that the system gives them."""
        return [process.pid for process in self.processes]

    def join(self, timeout: float | None = None, grace_period: float | None = None) -> bool:
        """Waits until one ends, or for ``timeout`` seconds. Returns whether all have ended.

        If one has failed, the others are ended, after ``grace_period`` seconds.

        Raises:
            ProcessRaisedException: a process has raised an error.
            ProcessExitedException: a process has ended with another exit code than 0.
        """
        if not self.sentinels:
            return True
        for sentinel in connection.wait(list(self.sentinels), timeout):
            rank = self.sentinels.pop(sentinel)
            process = self.processes[rank]
            process.join()
            if process.exitcode:
                self._end(grace_period)
                raise self._error(rank, process)
        return not self.sentinels

    def _end(self, grace_period: float | None) -> None:
        """Ends all processes: waits, terminates and then kills them."""
        for end, patience in (("join", grace_period or 0.0), ("terminate", grace_period or 30.0), ("kill", None)):
            for process in self.processes:
                if end != "join" and process.is_alive():
                    getattr(process, end)()
            deadline = None if patience is None else time.monotonic() + patience
            for process in self.processes:
                process.join(None if deadline is None else max(0.0, deadline - time.monotonic()))
        self.sentinels.clear()

    def _error(self, rank: int, process: Any) -> ProcessException:
        report, code = self._reports[rank], process.exitcode
        try:
            text = f"\n\n-- Process {rank} terminated with the following error:\n{report.recv()}"
            return ProcessRaisedException(text, rank, process.pid)
        except EOFError:
            pass
        if code > 0:
            return ProcessExitedException(f"process {rank} terminated with exit code {code}", rank, process.pid, code)
        name = signal.Signals(-code).name if -code in set(signal.Signals) else f"<Unknown signal {-code}>"
        return ProcessExitedException(f"process {rank} terminated with signal {name}", rank, process.pid, code, name)


def spawn(
    fn: Any,
    args: tuple[Any, ...] = (),
    nprocs: int = 1,
    join: bool = True,
    daemon: bool = False,
    start_method: str = "spawn",
) -> ProcessContext | None:
    """Runs ``fn(rank, *args)`` in ``nprocs`` processes. Without ``join`` it returns them.

    If ``mpiexec`` has started ``nprocs`` processes, each runs ``fn`` with its own rank: ``mpiexec -n 4 python
    program.py`` runs a program that spawns 4 processes which communicate.

    Raises:
        ProcessRaisedException: a process has raised an error, which the text tells. The others are ended.
        ProcessExitedException: a process has ended with an exit code other than 0, or by a signal.
    """
    rank = _rank_among(nprocs)
    if rank is not None:
        fn(rank, *args)
        return None if join else ProcessContext([], [])
    context = _python.get_context(start_method)
    processes, reports = [], []
    for rank in range(nprocs):
        report, theirs = context.Pipe(duplex=False)
        process = context.Process(target=_run, args=(fn, rank, args, theirs), daemon=daemon)  # type: ignore[attr-defined]
        process.start()
        theirs.close()
        processes.append(process)
        reports.append(report)
    started = ProcessContext(processes, reports)
    if not join:
        return started
    while not started.join():
        pass
    return None


start_processes = spawn


def _reduced(x: Any) -> Any:
    """A tensor as a pickle for another process."""
    if not x.is_leaf:
        raise RuntimeError(
            "a tensor with a graph cannot go to another process: the graph stays behind. Call detach() before"
        )
    return x.__reduce_ex__(pickle.DEFAULT_PROTOCOL)


ForkingPickler.register(TorchTensor, _reduced)


def _rank_among(nprocs: int) -> int | None:
    """The rank of this process if it is one of ``nprocs`` that ``mpiexec`` has started."""
    from ferrograd.distributed._transport import is_rank

    if nprocs == 1 or not is_rank():
        return None
    from ferrograd.distributed import world

    return world().rank if world().size == nprocs else None


__dir__ = _public.names(globals())
