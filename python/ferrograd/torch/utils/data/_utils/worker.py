"""What the workers of loaders know of themselves."""

from __future__ import annotations

from ferrograd._data.worker_info import WorkerInfo, get_worker_info
from ferrograd._data.workers import state_of_numpy
from ferrograd._kit import public as _public

__all__ = ["WorkerInfo", "get_worker_info"]

#: PyTorch's name.
_generate_state = state_of_numpy

__dir__ = _public.names(globals())
