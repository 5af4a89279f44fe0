"""``paddle.distributed``: processes that ``mpiexec`` has started, and their communications over MPI.

The functions here write into tensors or lists and record nothing; a group's ``communicator`` has those that can be
differentiated.
"""

from __future__ import annotations

from ferrograd._kit import public as _public
from ferrograd.paddle._base import process_groups as _process_groups
from ferrograd.paddle._base.process_groups import *
from ferrograd.paddle.distributed import _collectives, fleet
from ferrograd.paddle.distributed._collectives import *
from ferrograd.paddle.distributed.parallel import DataParallel

__all__ = [*_collectives.__all__, *_process_groups.__all__, "DataParallel", "fleet"]

__dir__ = _public.names(globals())
