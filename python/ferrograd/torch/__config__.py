"""``torch.__config__``: how the library was built, which programs print or search for words."""

from __future__ import annotations

from ferrograd._core import __version__, num_threads
from ferrograd._kit import public as _public

__all__ = ["parallel_info", "show"]


def show() -> str:
    """A description of the library.

    >>> import ferrograd.torch as torch
    >>> torch.__config__.show().splitlines()[0].split()[0]
    'ferrograd'
    """
    return f"ferrograd {__version__}, for the CPU, without MKL and CUDA\n"


def parallel_info() -> str:
    """The number of threads."""
    return f"ferrograd {__version__}, threads: {num_threads()}\n"


__dir__ = _public.names(globals())
