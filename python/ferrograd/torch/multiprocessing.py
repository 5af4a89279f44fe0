"""``torch.multiprocessing``: Python's :mod:`multiprocessing`. Tensors that are sent to another process are copied.

A program whose processes train one model in shared memory uses threads instead: :mod:`threading`, which share tensors.
"""

from __future__ import annotations

import multiprocessing as _python
from multiprocessing import *  # noqa: F403
from typing import Any

from ferrograd import _public

__all__ = [*_python.__all__, "get_all_sharing_strategies", "get_sharing_strategy", "set_sharing_strategy", "spawn"]


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


def spawn(
    fn: Any,
    args: tuple[Any, ...] = (),
    nprocs: int = 1,
    join: bool = True,
    daemon: bool = False,
    start_method: str = "spawn",
) -> list[Any] | None:
    """Runs ``fn(rank, *args)`` in ``nprocs`` processes. Without ``join`` it returns them.

    Raises:
        RuntimeError: a process has failed.
    """
    context = _python.get_context(start_method)
    processes: list[Any] = [
        context.Process(target=_run, args=(fn, rank, args), daemon=daemon)  # type: ignore[attr-defined]
        for rank in range(nprocs)
    ]
    for process in processes:
        process.start()
    if not join:
        return processes
    for process in processes:
        process.join()
    failed = [rank for rank, process in enumerate(processes) if process.exitcode]
    if failed:
        raise RuntimeError(f"spawn: process {failed[0]} ended with code {processes[failed[0]].exitcode}")
    return None


__dir__ = _public.names(globals())
