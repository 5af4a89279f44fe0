"""``torch.version``: the release that this dialect follows, and what it was built for."""

from __future__ import annotations

from ferrograd._kit import public as _public
from ferrograd.torch._functions.predicates import VERSION

__all__ = ["__version__", "cuda", "debug", "git_version", "hip", "xpu"]

__version__ = VERSION
debug = False
#: The releases of what is not used.
cuda = hip = xpu = git_version = None

__dir__ = _public.names(globals())
