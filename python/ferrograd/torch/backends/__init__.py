"""``torch.backends``: switches of torch's kernels. They can be set and read, and change nothing here.

>>> import ferrograd.torch as torch
>>> torch.backends.cudnn.deterministic = True
>>> torch.backends.cudnn.is_available()
False
"""

from __future__ import annotations

from ferrograd import _public
from ferrograd.torch.backends import cuda, cudnn, mkl, mkldnn, mps, openmp

__all__ = ["cuda", "cudnn", "mkl", "mkldnn", "mps", "openmp"]

__dir__ = _public.names(globals())
