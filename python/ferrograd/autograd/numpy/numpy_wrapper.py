"""Names of ``autograd.numpy`` that programs import from here."""

from __future__ import annotations

import ferrograd.autograd.numpy as _anp
from ferrograd._kit import public as _public
from ferrograd.autograd.numpy import *  # noqa: F403

__all__ = list(_anp.__all__)

__dir__ = _public.names(globals())
