"""``torch.multiprocessing``: Python's :mod:`multiprocessing`. Tensors that are sent to another process are copied.

A program whose processes train one model in shared memory uses threads instead: :mod:`threading`, which share tensors.
"""

from __future__ import annotations

import multiprocessing as _python
from multiprocessing import *  # noqa: F403
from typing import Any

from ferrograd import _public

__all__ = [
    *_python.__all__,
    "ProcessContext",
    "get_all_sharing_strategies",
    "get_sharing_strategy",
    "set_sharing_strategy",
    "spawn",
]


def get_all_sharing_strategies() -> set[str]:
    """The ways to send a tensor: by a copy."""
    return {"copy"}


def get_sharing_strategy() -> str:
    """How a tensor is sent: by a copy."""
    return "copy"


def set_sharing_strategy(new_strategy: str) -> None:
    """Does nothing: tensors are sent by a copy."""


def _run(fn: Any, rank: int, args: tuple[Any, ...]) -> None:
    fn(rank, *args)


class ProcessContext:
    """The processes that :func:`spawn` has started."""

    def __init__(self, processes: list[Any]) -> None:
        self.processes = processes

    def pids(self) -> list[int]:
        """The numbers that the system gives them."""
        return [process.pid for process in self.processes]

    def join(self, timeout: float | None = None, grace_period: float | None = None) -> bool:
        """Waits until they end; whether all have ended.

        Raises:
            RuntimeError: one has failed.
        """
        for process in self.processes:
            process.join(timeout)
        failed = [rank for rank, process in enumerate(self.processes) if process.exitcode]
        if failed:
            raise RuntimeError(f"spawn: process {failed[0]} ended with code {self.processes[failed[0]].exitcode}")
        return all(process.exitcode is not None for process in self.processes)


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
        RuntimeError: a process has failed.
    """
    rank = _rank_among(nprocs)
    if rank is not None:
        fn(rank, *args)
        return None if join else ProcessContext([])
    context = _python.get_context(start_method)
    processes: list[Any] = [
        context.Process(target=_run, args=(fn, rank, args), daemon=daemon)  # type: ignore[attr-defined]
        for rank in range(nprocs)
    ]
    for process in processes:
        process.start()
    started = ProcessContext(processes)
    if not join:
        return started
    started.join()
    return None


def _rank_among(nprocs: int) -> int | None:
    """The rank of this process if it is one of ``nprocs`` that ``mpiexec`` has started."""
    from ferrograd.distributed._transport import is_rank

    if nprocs == 1 or not is_rank():
        return None
    from ferrograd.distributed import world

    return world().rank if world().size == nprocs else None


__dir__ = _public.names(globals())
