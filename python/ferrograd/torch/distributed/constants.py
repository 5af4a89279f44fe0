"""``torch.distributed.constants``."""

from __future__ import annotations

from datetime import timedelta

from ferrograd._kit import public as _public

__all__ = ["default_pg_timeout"]

#: How long PyTorch waits for other processes. MPI waits without a limit.
default_pg_timeout = timedelta(minutes=30)

__dir__ = _public.names(globals())
