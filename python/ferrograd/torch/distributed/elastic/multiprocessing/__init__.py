"""``torch.distributed.elastic.multiprocessing``."""

from ferrograd._kit import public as _public
from ferrograd.torch.distributed.elastic.multiprocessing import errors as errors

__all__ = ["errors"]

__dir__ = _public.names(globals())
