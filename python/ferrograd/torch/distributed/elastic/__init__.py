"""``torch.distributed.elastic``."""

from ferrograd import _public
from ferrograd.torch.distributed.elastic import multiprocessing as multiprocessing

__all__ = ["multiprocessing"]

__dir__ = _public.names(globals())
