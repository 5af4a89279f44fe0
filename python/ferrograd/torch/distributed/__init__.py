"""``torch.distributed``: one process. Programs that ask whether there are more find none."""

from __future__ import annotations

from typing import Any, NoReturn

from ferrograd._core import FerrogradError

__all__ = [
    "get_rank",
    "get_world_size",
    "init_process_group",
    "is_available",
    "is_initialized",
    "is_torchelastic_launched",
]


def is_available() -> bool:
    """False: there is one process."""
    return False


def is_initialized() -> bool:
    """False: there is no group of processes."""
    return False


def is_torchelastic_launched() -> bool:
    """False: a launcher of PyTorch's does not know this library."""
    return False


def _refuse(function: str) -> NoReturn:
    raise FerrogradError(
        f"torch.distributed.{function}: there are no groups of processes here; ask torch.distributed.is_available() "
        "first. Between processes, send arrays of x.numpy() with mpi4py or multiprocessing"
    )


def init_process_group(*args: Any, **kwargs: Any) -> NoReturn:
    """Raises: there are no groups of processes."""
    _refuse("init_process_group")


def get_rank(group: Any = None) -> NoReturn:
    """Raises: there are no groups of processes."""
    _refuse("get_rank")


def get_world_size(group: Any = None) -> NoReturn:
    """Raises: there are no groups of processes."""
    _refuse("get_world_size")
