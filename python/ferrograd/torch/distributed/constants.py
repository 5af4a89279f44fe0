"""``torch.distributed.constants``."""

from __future__ import annotations

from datetime import timedelta

from ferrograd import _public

__all__ = ["default_pg_timeout"]

#: How long PyTorch waits for other processes. MPI waits without a limit.
default_pg_timeout = timedelta(minutes=30)

__dir__ = _public.names(globals())
