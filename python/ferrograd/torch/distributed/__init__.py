"""``torch.distributed``: processes that ``mpiexec`` has started, and their communications over MPI.

The functions here write into tensors and record nothing; ``torch.distributed.nn`` has those that can be differentiated.
"""

from __future__ import annotations

from ferrograd._kit import public as _public
from ferrograd.torch._base import process_groups as _process_groups
from ferrograd.torch._base.process_groups import *
from ferrograd.torch._base.process_groups import _rank_not_in_group as _rank_not_in_group
from ferrograd.torch.distributed import _collectives, _stores, nn
from ferrograd.torch.distributed._collectives import *
from ferrograd.torch.distributed._stores import *

__all__ = [*_collectives.__all__, *_process_groups.__all__, *_stores.__all__, "nn"]

__dir__ = _public.names(globals())
