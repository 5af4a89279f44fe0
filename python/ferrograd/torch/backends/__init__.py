"""``torch.backends``: switches of torch's kernels. They can be set and read, and change nothing here.

>>> import ferrograd.torch as torch
>>> torch.backends.cudnn.deterministic = True
>>> torch.backends.cudnn.is_available()
False
"""

from __future__ import annotations

from ferrograd._kit import public as _public
from ferrograd.torch.backends import cpu, cuda, cudnn, mkl, mkldnn, mps, openmp, opt_einsum, quantized

__all__ = ["cpu", "cuda", "cudnn", "mkl", "mkldnn", "mps", "openmp", "opt_einsum", "quantized"]


def flags_frozen() -> bool:
    """False: switches can be set."""
    return False


def disable_global_flags() -> None:
    """Does nothing: switches change nothing."""


__dir__ = _public.names(globals())
