"""``torch.distributed.elastic``."""

from ferrograd._kit import public as _public
from ferrograd.torch.distributed.elastic import multiprocessing as multiprocessing

__all__ = ["multiprocessing"]

__dir__ = _public.names(globals())
