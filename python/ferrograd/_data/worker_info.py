"""What a worker process knows of itself."""

from __future__ import annotations

from typing import Any, NamedTuple, NoReturn


class WorkerInfo(NamedTuple):
    """A worker process: its number, the number of workers, its seed and its copy of the dataset."""

    id: int
    num_workers: int
    seed: int
    dataset: Any

    def __setattr__(self, name: str, value: Any) -> NoReturn:
        raise RuntimeError(f"Cannot assign attributes to {type(self).__name__} objects")


_current: WorkerInfo | None = None


def get_worker_info() -> WorkerInfo | None:
    """The :class:`WorkerInfo` of this process, or None if it is no worker of a loader.

    >>> from ferrograd.torch.utils.data import get_worker_info
    >>> get_worker_info() is None
    True
    """
    return _current


def set_worker_info(info: WorkerInfo) -> None:
    """Makes this process known as a worker."""
    global _current
    _current = info
